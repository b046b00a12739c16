"""Sinusoidal positions · 6 minutes

Attention knows no order, so a transformer adds a row to each token that tells
where it stands. Write `sinusoidal_positions(length, width)`, the fixed table of
2017, which needs no training: an array (T, d) of T = length rows, one for each
position, and d = width features, an even number.

Contract
    Features 2i and 2i + 1 are a pair: the sine and the cosine of one angle,
    position / 10000^(2i / d), for i = 0 to d/2 - 1. So sines stand in the even
    columns and cosines in the odd ones, side by side.
    Positions count from 0; the first pair turns fastest, by 1 a position.
    The dtype is float64.
    Follow-up: a length or a width below 1, or one that is no integer, raises
    ValueError.

    Others lay it out otherwise: all sines in the first half of the columns and
    all cosines in the second.

    >>> sinusoidal_positions(3, 4).round(3)
    array([[ 0.   ,  1.   ,  0.   ,  1.   ],
           [ 0.841,  0.54 ,  0.01 ,  1.   ],
           [ 0.909, -0.416,  0.02 ,  1.   ]])
"""

import numpy as np


def sinusoidal_positions(length: int, width: int) -> np.ndarray:
    for size in (length, width):
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"length and width must be integers from 1, not {length!r} and {width!r}")
    position = np.arange(length)[:, None]  # (T, 1)
    pair = np.arange(0, width, 2)  # 2i, once for each pair
    angle = position / 10000.0 ** (pair / width)  # (T, d/2)
    table = np.zeros((length, width))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle[:, : width // 2])
    return table
