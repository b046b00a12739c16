import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def with_one(x):
    return np.concatenate([x, np.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)


def feed_forward(x, w1, b1, w2, b2):
    """A bias is the weight of a feature that is always 1."""
    inner = with_one(gelu(with_one(x) @ np.vstack([w1, b1])))
    return inner @ np.vstack([w2, b2])
