from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np


def rows(length: int) -> Iterator[bool]:
    for seen in range(1, length + 1):
        yield from chain(repeat(False, seen), repeat(True, length - seen))


def causal_mask(length: int) -> np.ndarray:
    return np.fromiter(rows(length), dtype=bool, count=length * length).reshape(length, length)
