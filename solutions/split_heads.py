"""Split and merge heads · 8 minutes

Multi-head attention runs H attentions side by side, each on its own share of
dh = d / H features. Write `split_heads(x, heads)`, which turns x of (B, T, d)
into (B, H, T, dh), and `merge_heads(x)`, its inverse, which turns (B, H, T, dh)
back into (B, T, d).

Contract
    Head h holds the features h*dh to (h+1)*dh of every token, in order.
    merge_heads(split_heads(x, H)) is x again for every H that divides d, 1 and
    d included, and split_heads(merge_heads(y), H) is y again.
    The input is not modified; a view of it may be returned.
    Follow-up: a width that heads do not divide, heads < 1 or a wrong rank
    raises ValueError; merging a non-contiguous input works; float32 in gives
    float32 out.

    >>> x = np.arange(8).reshape(1, 2, 4)  # 2 tokens of 4 features
    >>> split_heads(x, 2)
    array([[[[0, 1],
             [4, 5]],
    <BLANKLINE>
            [[2, 3],
             [6, 7]]]])
    >>> merge_heads(split_heads(x, 2))
    array([[[0, 1, 2, 3],
            [4, 5, 6, 7]]])
"""

import numpy as np


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    if x.ndim != 3:
        raise ValueError(f"x must be (B, T, d), not {x.shape}")
    B, T, d = x.shape
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    x = x.reshape(B, T, heads, d // heads)
    return x.transpose(0, 2, 1, 3)  # (B, H, T, dh)


def merge_heads(x: np.ndarray) -> np.ndarray:
    if x.ndim != 4:
        raise ValueError(f"x must be (B, H, T, dh), not {x.shape}")
    B, H, T, dh = x.shape
    x = x.transpose(0, 2, 1, 3)  # (B, T, H, dh)
    return x.reshape(B, T, H * dh)
