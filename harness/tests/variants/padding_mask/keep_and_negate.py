import numpy as np


def padding_mask(ids, pad_id):
    keep = (ids != pad_id)[:, np.newaxis, np.newaxis]
    return ~keep


def decoder_mask(ids, pad_id):
    keep = np.tri(ids.shape[1], dtype=bool)[None, None] & (ids != pad_id)[:, None, None]
    return ~keep
