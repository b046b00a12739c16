import numpy as np


def padding_mask(ids, pad_id):
    return np.expand_dims(np.equal(ids, pad_id), (1, 2))


def decoder_mask(ids, pad_id):
    B, T = ids.shape
    b, _, query, key = np.ogrid[:B, :1, :T, :T]
    return (key > query) | (ids[b, key] == pad_id)
