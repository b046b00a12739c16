import numpy as np

WIDE = np.longdouble


def cross_attention(x, memory, params, heads, memory_padding=None):
    tokens, source = x.astype(WIDE), memory.astype(WIDE)
    wq, wk, wv, wo = (params[name].astype(WIDE) for name in ("wq", "wk", "wv", "wo"))
    B, T, d = tokens.shape
    mean = tokens.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(((tokens - mean) ** 2).mean(axis=-1, keepdims=True) + WIDE("1e-5"))
    q = np.dot((tokens - mean) / deviation, wq).reshape(B, T, heads, -1)
    k = np.dot(source, wk).reshape(B, -1, heads, q.shape[-1])
    v = np.dot(source, wv).reshape(k.shape)
    scores = np.einsum("bthe,bshe->bhts", q, k) / np.sqrt(WIDE(q.shape[-1]))
    if memory_padding is not None:
        scores = np.where(memory_padding[:, None, None], -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    context = np.einsum("bhts,bshe->bthe", weights, v).reshape(B, T, d)
    return (tokens + np.dot(context, wo)).astype(x.dtype)
