import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    out = np.subtract(x, x.mean(-1, keepdims=True))
    scale = np.square(out).mean(-1, keepdims=True)
    scale += eps
    np.sqrt(scale, out=scale)
    out /= scale
    out *= gamma
    out += beta
    return out
