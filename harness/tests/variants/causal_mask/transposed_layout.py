import numpy as np


def causal_mask(length):
    strictly_lower = np.tri(length, k=-1, dtype=bool)
    return strictly_lower.T
