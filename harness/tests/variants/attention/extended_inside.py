import numpy as np


def attention(q, k, v, blocked=None):
    wide = [np.asarray(a, dtype=np.longdouble) for a in (q, k, v)]
    scores = (wide[0][..., :, None, :] * wide[1][..., None, :, :]).sum(-1) / np.sqrt(wide[0].shape[-1])
    if blocked is not None:
        scores = np.where(blocked, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    output = (weights[..., None] * wide[2][..., None, :, :]).sum(-2)
    return output.astype(q.dtype), weights.astype(q.dtype)
