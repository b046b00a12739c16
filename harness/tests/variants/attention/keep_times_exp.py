import numpy as np


def attention(q, k, v, blocked=None):
    scores = np.matmul(q, np.moveaxis(k, 2, 3)) * q.shape[-1] ** -0.5
    keep = np.ones_like(scores) if blocked is None else np.broadcast_to(1.0 - blocked, scores.shape)
    # The peak over the visible keys alone: what is blocked may be far larger.
    peak = np.max(scores, axis=-1, keepdims=True, where=keep > 0, initial=np.finfo(scores.dtype).min)
    odds = np.exp(np.minimum(scores - peak, 0.0)) * keep
    weights = odds / odds.sum(axis=-1, keepdims=True)
    return np.matmul(weights, v), weights
