import numpy as np


def padding_mask(ids, pad_id):
    bias = np.where(ids == pad_id, -np.inf, 0.0)
    return np.isneginf(bias)[:, None, None, :]


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    bias = np.triu(np.full((T, T), -np.inf), k=1)
    bias = bias[None, None] + np.where(ids == pad_id, -np.inf, 0.0)[:, None, None, :]
    return bias < 0
