import numpy as np


def log_sum_exp(a, axis):
    top = np.amax(a, axis=axis, keepdims=True)
    return top + np.log(np.exp(a - top).sum(axis=axis, keepdims=True))


def log_softmax(a, axis):
    top = np.amax(a, axis=axis, keepdims=True)
    shifted = a - top
    return shifted - log_sum_exp(shifted, axis)


def stable_softmax(scores, axis=-1):
    return np.exp(log_softmax(scores, axis))
