import math

import numpy as np


def _softmax(values):
    if values.ndim > 1:
        return np.stack([_softmax(part) for part in values])
    top = max(values.tolist())
    powers = [math.exp(value - top) for value in values.tolist()]
    total = math.fsum(powers)
    return np.array([power / total for power in powers])


def stable_softmax(scores, axis=-1):
    return _softmax(scores.swapaxes(axis, -1)).swapaxes(axis, -1)
