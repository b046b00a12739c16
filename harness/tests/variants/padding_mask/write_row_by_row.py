import numpy as np


def padding_mask(ids, pad_id):
    mask = np.zeros((ids.shape[0], 1, 1, ids.shape[1]), dtype=bool)
    mask[:, 0, 0][ids == pad_id] = True
    return mask


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    mask = np.repeat(padding_mask(ids, pad_id), T, axis=2)
    for query in range(T):
        mask[..., query, query + 1 :] = True
    return mask
