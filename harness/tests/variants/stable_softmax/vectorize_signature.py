import numpy as np


@np.vectorize(signature="(n)->(n)")
def _softmax(vector):
    vector = np.exp(vector - vector.max())
    return vector / vector.sum()


def stable_softmax(scores, axis=-1):
    return np.swapaxes(_softmax(np.swapaxes(scores, axis, -1)), axis, -1)
