import numpy as np


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    if x.ndim != 3:
        raise ValueError("x has three axes: batch, token, feature")
    batch, tokens, width = x.shape
    if heads <= 0 or width % heads != 0:
        raise ValueError(f"width {width} does not fall into {heads} equal heads")
    size = width // heads
    out = np.empty((batch, heads, tokens, size), dtype=x.dtype)
    for h in range(heads):
        out[:, h] = x[..., h * size : (h + 1) * size]
    return out


def merge_heads(x: np.ndarray) -> np.ndarray:
    if x.ndim != 4:
        raise ValueError("x has four axes: batch, head, token, feature")
    batch, heads, tokens, size = x.shape
    out = np.empty((batch, tokens, heads * size), dtype=x.dtype)
    for h in range(heads):
        out[..., h * size : (h + 1) * size] = x[:, h]
    return out
