import numpy as np


def attention(q, k, v, blocked=None):
    scores = np.ma.array(q @ np.swapaxes(k, 2, 3) / np.sqrt(k.shape[3]))
    if blocked is not None:
        scores = np.ma.masked_where(np.broadcast_to(blocked, scores.shape), scores)
    odds = np.ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = np.ma.filled(odds / odds.sum(axis=-1, keepdims=True), 0.0)
    return weights @ v, weights
