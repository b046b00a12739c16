import numpy as np
from numpy.lib.stride_tricks import as_strided


def split_heads(x, heads):
    B, T, d = x.shape
    dh = d // heads
    batch, token, feature = x.strides
    return as_strided(x, (B, heads, T, dh), (batch, dh * feature, token, feature), writeable=False)


def merge_heads(x):
    B, H, T, dh = x.shape
    merged = np.zeros((B, T, H * dh), x.dtype)
    batch, token, feature = merged.strides
    as_strided(merged, x.shape, (batch, dh * feature, token, feature))[...] = x
    return merged
