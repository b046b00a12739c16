import numpy as np


def causal_mask(length):
    return np.tri(length, dtype=np.int8) == 0
