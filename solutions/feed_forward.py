"""Feed-forward · 6 minutes

Write `gelu(x)`, the activation, for an array of any shape, and
`feed_forward(x, w1, b1, w2, b2)`, the network of two layers that follows
attention in every block: widen, activate, narrow. x is (B, T, d), or has fewer
or more axes before the last one; w1 is (d, f), b1 (f,), w2 (f, d), b2 (d,), and
the result has the shape of x.

Contract
    gelu: the tanh approximation,
    gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    feed_forward(x) = gelu(x @ w1 + b1) @ w2 + b2, for each token by itself.
    No residual, no norm, no dropout: they are the block's business.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: weights and biases that do not fit raise ValueError; float32 in
    gives float32 out; entries of 1e5 give no NaN and no warning.

    >>> gelu(np.array([-1.0, 0.0, 1.0, 3.0])).round(3)
    array([-0.159,  0.   ,  0.841,  2.996])
    >>> x = np.array([[[1.0, -1.0]]])  # 1 token of 2 features
    >>> w1, w2 = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), np.ones((3, 2))
    >>> feed_forward(x, w1, np.zeros(3), w2, np.array([0.0, 10.0])).round(3)
    array([[[ 1.524, 11.524]]])
"""

import numpy as np


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def feed_forward(x: np.ndarray, w1: np.ndarray, b1: np.ndarray, w2: np.ndarray, b2: np.ndarray) -> np.ndarray:
    d, f = x.shape[-1], w1.shape[-1]
    shapes = w1.shape, b1.shape, w2.shape, b2.shape
    if shapes != ((d, f), (f,), (f, d), (d,)):
        raise ValueError(f"w1, b1, w2 and b2 of {shapes} do not fit x {x.shape}")
    inner = gelu(x @ w1 + b1)  # (B, T, f)
    return inner @ w2 + b2
