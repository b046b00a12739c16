import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    S, dh = memory.shape[1], d // heads
    xt, mt = np.asfortranarray(x), np.asfortranarray(memory)
    mu = xt.mean(axis=2, keepdims=True)
    q = np.asfortranarray((xt - mu) / np.sqrt(((xt - mu) ** 2).mean(axis=2, keepdims=True) + 1e-5)) @ params["wq"]
    k, v = mt @ params["wk"], mt @ params["wv"]
    scores = np.einsum("bthe,bshe->tsbh", q.reshape(B, T, heads, dh), k.reshape(B, S, heads, dh)) * dh**-0.5
    if memory_padding is not None:
        scores -= 1e12 * memory_padding.T[None, :, :, None]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = scores / scores.sum(axis=1, keepdims=True)
    context = np.einsum("tsbh,bshe->bthe", weights, v.reshape(B, S, heads, dh)).reshape(B, T, d)
    return np.asfortranarray(x + context @ params["wo"])
