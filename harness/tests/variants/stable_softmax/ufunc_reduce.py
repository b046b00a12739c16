from functools import partial

import numpy as np


def stable_softmax(scores, axis=-1):
    over = partial(dict, axis=axis, keepdims=True)
    powers = np.exp(np.subtract(scores, np.maximum.reduce(scores, **over())))
    return np.true_divide(powers, np.add.reduce(powers, **over()))
