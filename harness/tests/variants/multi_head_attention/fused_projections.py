import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    joined = x @ np.hstack([params["wq"], params["wk"], params["wv"]])
    q, k, v = np.moveaxis(joined.reshape(*x.shape[:2], 3, heads, -1), (2, 3), (0, 2))
    scores = np.matmul(q * q.shape[-1] ** -0.5, k.swapaxes(-1, -2))
    if blocked is not None:
        scores = np.where(blocked, np.finfo(scores.dtype).min, scores)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
    context = np.concatenate(list(np.moveaxis(weights @ v, 1, 0)), axis=-1)
    return context @ params["wo"], weights
