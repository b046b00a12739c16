"""Causal mask · 5 minutes

A decoder predicts each token from the tokens up to it, so attention must not look ahead. Write
`causal_mask(length)`: the boolean (T, T) mask of one sequence of T = length tokens, row i for
query i, column j for key j.

Contract
    True = blocked. [i, j] is True where query i must not see key j, that is where j > i.
    So a position sees itself, the first row sees key 0 alone, and the last row sees every key.
    The dtype is bool: not 0 and 1, not 0 and -inf.
    Follow-up: a length below 1, or one that is not an integer, raises ValueError.

    Libraries disagree on True: `nn.MultiheadAttention` blocks where a boolean mask is True,
    `scaled_dot_product_attention` keeps there, and some add a mask of 0 and -inf.

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
    return np.triu(np.ones((length, length), dtype=bool), k=1)
