import numpy as np


def split_heads(x, heads):
    return np.einsum("bthe->bhte", x.reshape(*x.shape[:2], heads, -1))


def merge_heads(x):
    B, H, T, dh = x.shape
    return np.einsum("bhte->bthe", x).reshape(B, T, H * dh)
