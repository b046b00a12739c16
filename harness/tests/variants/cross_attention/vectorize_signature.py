import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    if memory_padding is None:
        memory_padding = np.zeros(memory.shape[:-1], dtype=bool)

    @np.vectorize(signature="(e),(s,e),(s,e),(s)->(e)")
    def look(query, keys, values, padding):
        scores = keys @ query / np.sqrt(query.size)
        scores = np.where(padding, -np.inf, scores)
        weights = np.exp(scores - scores.max())
        return weights / weights.sum() @ values

    def apart(a):
        return a.reshape(*a.shape[:-1], heads, -1)

    normed = np.apply_along_axis(lambda r: (r - r.mean()) / np.sqrt(r.var() + 1e-5), -1, x)
    q = apart(normed @ params["wq"])  # (B, T, H, dh)
    k, v = (apart(memory @ params[w]).swapaxes(1, 2)[:, None] for w in ("wk", "wv"))  # (B, 1, H, S, dh)
    context = look(q, k, v, memory_padding[:, None, None])
    return x + context.reshape(x.shape) @ params["wo"]
