import numpy as np


def stable_softmax(scores, axis=-1):
    z = np.asfortranarray(scores, dtype=float)
    z = z - np.expand_dims(z.max(axis), axis)
    p = np.exp(z)
    return np.asfortranarray(p / np.expand_dims(p.sum(axis), axis))
