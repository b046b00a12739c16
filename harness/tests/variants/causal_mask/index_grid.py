import numpy as np


def causal_mask(length):
    rows, columns = np.indices((length, length))
    return columns > rows
