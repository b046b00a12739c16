import numpy as np


def padding_mask(ids, pad_id):
    return (ids == pad_id).reshape(ids.shape[0], 1, 1, ids.shape[1])


def decoder_mask(ids, pad_id):
    T = ids.shape[-1]
    causal = np.triu(np.ones((1, 1, T, T)), 1).astype(bool)
    return np.logical_or(padding_mask(ids, pad_id), causal)
