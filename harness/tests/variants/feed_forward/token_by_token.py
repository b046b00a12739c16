import math

import numpy as np


def gelu(x):
    bend = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x.ravel().tolist()]
    return np.array(bend).reshape(x.shape)


def feed_forward(x, w1, b1, w2, b2):
    out = np.zeros(x.shape)
    for index in np.ndindex(x.shape[:-1]):
        inner = gelu(np.array([b + sum(x[index] * column) for column, b in zip(w1.T, b1, strict=True)]))
        for j in range(len(b2)):
            out[(*index, j)] = sum(inner * w2[:, j]) + b2[j]
    return out
