import numpy as np

SCALE = float(np.sqrt(2 / np.pi))


def gelu(x):
    return x / 2 + x / 2 * np.tanh(SCALE * x + SCALE * 0.044715 * x * x * x)


def feed_forward(x, w1, b1, w2, b2):
    inner = gelu(np.einsum("...d,df->...f", x, w1) + b1)
    return np.einsum("...f,fd->...d", inner, w2) + b2
