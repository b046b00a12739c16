import numpy as np


def stable_softmax(scores, axis=-1):
    buffer = np.array(scores, dtype=np.result_type(scores, np.float32), copy=True, order="C")
    np.subtract(buffer, buffer.max(axis=axis, keepdims=True), out=buffer)
    np.exp(buffer, out=buffer)
    np.divide(buffer, buffer.sum(axis=axis, keepdims=True), out=buffer)
    return buffer
