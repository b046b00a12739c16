import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    B, T, d = x.shape
    q, k, v = ((x @ params[name]).reshape(B, T, heads, d // heads).transpose(2, 0, 1, 3) for name in ("wq", "wk", "wv"))
    scores = np.ma.array((q @ k.swapaxes(2, 3) / (d // heads) ** 0.5).swapaxes(0, 1))
    if blocked is not None:
        scores = np.ma.masked_where(np.broadcast_to(blocked, scores.shape), scores)
    odds = np.ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = np.ma.filled(odds / odds.sum(axis=-1, keepdims=True), 0.0)
    return np.einsum("bhts,hbse->bthe", weights, v).reshape(B, T, d) @ params["wo"], weights
