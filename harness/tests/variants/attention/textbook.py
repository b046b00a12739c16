import numpy as np


def attention(q, k, v, blocked=None):
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if blocked is not None:
        scores = np.where(blocked, -1e9, scores)
    exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exp / exp.sum(axis=-1, keepdims=True)
    return weights @ v, weights
