"""Layer norm · 5 minutes

Write `layer_norm(x, gamma, beta, eps=1e-5)`, which every sublayer of a
transformer has beside it. x is (B, T, d), or has fewer or more axes before the
last one; gamma and beta are (d,). The result has the shape of x.

Contract
    Over the last axis alone: each row of d numbers is centred and scaled by
    itself, whatever the other rows hold.
    (x - mean) / sqrt(variance + eps) * gamma + beta, with the biased variance
    (divided by d, ddof=0) and eps inside the root.
    Rows of any mean and spread: the mean is at most 100 deviations from 0.
    Nothing that is passed in is modified.
    Follow-up: float32 in gives float32 out; a gamma or beta that is not (d,)
    and an x without axes raise ValueError.

    >>> x = np.array([[[1.0, 3.0], [0.0, 8.0]]])  # 2 tokens of 2 features
    >>> layer_norm(x, np.ones(2), np.zeros(2)).round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    >>> gamma, beta = np.array([2.0, 5.0]), np.array([0.0, 1.0])
    >>> layer_norm(np.array([1.0, 3.0]), gamma, beta, eps=3.0)
    array([-1. ,  3.5])
"""

import numpy as np


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    if x.ndim == 0 or not gamma.shape == beta.shape == x.shape[-1:]:
        raise ValueError(f"gamma {gamma.shape} and beta {beta.shape} do not fit the rows of x {x.shape}")
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * gamma + beta
