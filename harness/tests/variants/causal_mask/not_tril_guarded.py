import operator

import numpy as np


def causal_mask(length):
    try:
        length = operator.index(length)
    except TypeError:
        raise ValueError(f"a sequence has a whole number of tokens, got {length!r}") from None
    if length <= 0:
        raise ValueError(f"a sequence has at least one token, got {length}")
    visible = np.tril(np.ones((length, length))).astype(bool)
    return ~visible
