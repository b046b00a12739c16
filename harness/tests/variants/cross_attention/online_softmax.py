import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    S, dh = memory.shape[1], d // heads
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    q = (normed @ params["wq"]).reshape(B, T, heads, dh) * dh**-0.5
    k = (memory @ params["wk"]).reshape(B, S, heads, dh)
    v = (memory @ params["wv"]).reshape(B, S, heads, dh)
    real = np.ones((B, S), bool) if memory_padding is None else ~memory_padding
    peak = np.full((B, T, heads), -np.inf)
    mass, acc = np.zeros((B, T, heads)), np.zeros((B, T, heads, dh))
    for s in range(S):
        score = np.einsum("bthe,bhe->bth", q, k[:, s])
        score = np.where(real[:, s, None, None], score, -np.inf)
        top = np.maximum(peak, score)
        safe = np.where(np.isfinite(top), top, 0.0)
        keep, gain = np.exp(peak - safe), np.exp(score - safe)
        mass = mass * keep + gain
        acc = acc * keep[..., None] + gain[..., None] * v[:, None, s]
        peak = top
    context = acc / np.where(mass > 0, mass, 1.0)[..., None]
    return x + context.reshape(B, T, d) @ params["wo"]
