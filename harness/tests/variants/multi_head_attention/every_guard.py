import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    if x.ndim != 3:
        raise ValueError("x needs three axes")
    B, T, d = x.shape
    if T == 0:
        raise ValueError("there is no token")
    if heads < 1 or d % heads:
        raise ValueError(f"{d} features for {heads} heads")
    if any(params[name].shape != (d, d) for name in ("wq", "wk", "wv", "wo")):
        raise ValueError(f"every weight must be ({d}, {d})")
    hidden = np.broadcast_to(np.False_ if blocked is None else blocked, (B, heads, T, T))
    q, k, v = (np.swapaxes((x @ params[n]).reshape(B, T, heads, -1), 1, 2) for n in ("wq", "wk", "wv"))
    scores = q @ np.swapaxes(k, 2, 3) * x.dtype.type((d // heads) ** -0.5)
    scores[hidden] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.swapaxes(weights @ v, 1, 2).reshape(B, T, d) @ params["wo"], weights
