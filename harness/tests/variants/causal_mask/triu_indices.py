import numpy as np


def causal_mask(length):
    blocked = np.full((length, length), False)
    blocked[np.triu_indices(length, k=1)] = True
    return blocked
