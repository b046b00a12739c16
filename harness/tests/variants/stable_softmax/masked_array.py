import numpy as np


def stable_softmax(scores, axis=-1):
    visible = np.ma.masked_where(scores == -np.inf, scores)
    weights = np.ma.exp(visible - visible.max(axis=axis, keepdims=True))
    return np.asarray((weights / weights.sum(axis=axis, keepdims=True)).filled(0))
