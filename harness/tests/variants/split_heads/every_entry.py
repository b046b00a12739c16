import numpy as np


def split_heads(x, heads):
    B, T, d = x.shape
    dh = d // heads
    out = np.zeros((B, heads, T, dh), dtype=x.dtype)
    for b, t, i in np.ndindex(x.shape):
        out[b, i // dh, t, i % dh] = x[b, t, i]
    return out


def merge_heads(x):
    B, H, T, dh = x.shape
    out = np.zeros((B, T, H * dh), dtype=x.dtype)
    for b, h, t, i in np.ndindex(x.shape):
        out[b, t, h * dh + i] = x[b, h, t, i]
    return out
