import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    S, dh = memory.shape[1], d // heads
    c = x - x.mean(axis=-1, keepdims=True)
    q = (c / np.sqrt((c**2).mean(axis=-1, keepdims=True) + 1e-5)) @ (params["wq"] / np.sqrt(dh))
    q = np.moveaxis(q.reshape(B, T, heads, dh), 2, 1)
    kv = memory @ np.hstack((params["wk"], params["wv"]))
    k, v = kv.reshape(B, S, 2, heads, dh).transpose(2, 0, 3, 1, 4)
    bias = np.zeros((B, 1, 1, S))
    if memory_padding is not None:
        bias[memory_padding[:, None, None, :]] = -np.inf
    a = q @ k.swapaxes(-1, -2) + bias
    a = np.exp(a - a.max(axis=-1, keepdims=True))
    a /= a.sum(axis=-1, keepdims=True)
    return x + np.moveaxis(a @ v, 1, 2).reshape(B, T, d) @ params["wo"]
