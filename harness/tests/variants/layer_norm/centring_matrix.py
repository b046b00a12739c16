import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    """Subtracting the mean is a projection: multiply by I - 1/d."""
    d = len(gamma)
    centred = x @ (np.eye(d) - np.ones((d, d)) / d)
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    return centred * gamma / np.hypot(length / d**0.5, eps**0.5) + beta
