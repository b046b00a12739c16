"""Causal mask · 5 minutes

A decoder learns to predict every next token of a sequence in one go, so
attention must not look ahead. Write `causal_mask(length)`: the (T, T) mask of
one sequence of T = length tokens, a row for every query and a column for every
key.

Contract
    True = blocked: [i, j] is True where query i must not see key j, that is
    where j > i. Row i has read token i and predicts token i + 1, so a position
    sees itself: the first row sees key 0 alone, the last row sees every key.
    The dtype is bool: not 0 and 1, not 0 and -inf.
    Follow-up: a length below 1, or one that is not an integer, raises
    ValueError.

    Others say it otherwise. A boolean mask blocks where it is True in
    `nn.MultiheadAttention` and keeps there in `scaled_dot_product_attention`;
    some code adds a mask of 0 and -inf to the scores. And 'strictly lower
    triangular' is often written where the diagonal is meant to be included.

    >>> causal_mask(3)
    array([[False,  True,  True],
           [False, False,  True],
           [False, False, False]])
"""

import numpy as np


def causal_mask(length: int) -> np.ndarray:
    if not isinstance(length, int | np.integer):
        raise ValueError(f"length must be an integer, not {type(length).__name__}")
    if length < 1:
        raise ValueError(f"length must be at least 1, not {length}")
    blocked = np.ones((length, length), dtype=bool)
    return np.triu(blocked, k=1)
