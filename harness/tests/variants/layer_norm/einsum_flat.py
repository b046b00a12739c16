import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    d = x.shape[-1]
    rows = x.reshape(-1, d)
    centred = rows - np.einsum("nd->n", rows)[:, None] / d
    inverse = (np.einsum("nd,nd->n", centred, centred) / d + eps) ** -0.5
    return (np.einsum("nd,n,d->nd", centred, inverse, gamma) + beta).reshape(x.shape)
