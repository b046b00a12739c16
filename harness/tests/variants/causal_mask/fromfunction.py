import numpy as np


def causal_mask(T):
    return np.fromfunction(lambda i, j: i < j, (T, T), dtype=int)
