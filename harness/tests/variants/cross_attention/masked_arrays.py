import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    dh = d // heads
    y = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    q, k, v = y @ params["wq"], memory @ params["wk"], memory @ params["wv"]
    q, k, v = (a.reshape(B, -1, heads, dh).transpose(2, 0, 1, 3) for a in (q, k, v))
    scores = np.ma.array(q @ k.swapaxes(2, 3) / dh**0.5)
    if memory_padding is not None:
        scores = np.ma.masked_where(np.broadcast_to(memory_padding[None, :, None], scores.shape), scores)
    odds = np.ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = np.ma.filled(odds / odds.sum(axis=-1, keepdims=True), 0.0)
    return x + np.asarray(weights @ v).transpose(1, 2, 0, 3).reshape(B, T, d) @ params["wo"]
