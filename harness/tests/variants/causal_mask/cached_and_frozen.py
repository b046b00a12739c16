from functools import lru_cache

import numpy as np


@lru_cache(maxsize=32)
def causal_mask(length: int) -> np.ndarray:
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ValueError("length: expected an int >= 1")
    mask = np.triu(np.ones((length, length), dtype=np.bool_), k=1)
    mask.flags.writeable = False
    return mask
