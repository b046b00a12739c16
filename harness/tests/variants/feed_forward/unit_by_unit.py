import numpy as np

gelu = np.vectorize(lambda v: 0.5 * v * (1 + np.tanh((2 / np.pi) ** 0.5 * (v + 0.044715 * v**3))), otypes=[float])


def feed_forward(x, w1, b1, w2, b2):
    """The sum over the f inner units, each with its own column and row."""
    out = np.broadcast_to(b2, x.shape).astype(float)
    for column, bias, row in zip(w1.T, b1, w2, strict=True):
        out = out + gelu(x @ column + bias)[..., None] * row
    return out
