import numpy as np


def split_heads(x, heads):
    B, T, d = x.shape
    return np.transpose(x.reshape(B, T, heads, d // heads), (0, 2, 1, 3))


def merge_heads(x):
    B, H, T, dh = x.shape
    return np.transpose(x, (0, 2, 1, 3)).reshape(B, T, H * dh)
