import numpy as np


def stable_softmax(scores, axis=-1):
    # p_i = 1 / sum_j exp(s_j - s_i); what lies 700 below the largest counts as nothing.
    s = np.moveaxis(np.asarray(scores, dtype=float), axis, -1)
    floor = s.max(axis=-1, keepdims=True) - 700
    s = np.maximum(s, floor)
    shares = np.reciprocal(np.exp(s[..., None, :] - s[..., :, None]).sum(axis=-1))
    return np.moveaxis(np.where(s == floor, 0.0, shares), -1, axis)
