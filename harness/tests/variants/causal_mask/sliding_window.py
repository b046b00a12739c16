import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def causal_mask(length):
    # One line, False for the past and True for the future: every row is a window on it.
    line = np.arange(2 * length - 1) >= length
    return sliding_window_view(line, length)[::-1]
