import math

import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    out = np.empty(x.shape, dtype=np.result_type(x, gamma))
    for index in np.ndindex(x.shape[:-1]):
        row = [float(value) for value in x[index]]
        mean = math.fsum(row) / len(row)
        variance = math.fsum((value - mean) ** 2 for value in row) / len(row)
        scale = 1 / math.sqrt(variance + eps)
        for i, value in enumerate(row):
            out[(*index, i)] = (value - mean) * scale * gamma[i] + beta[i]
    return out
