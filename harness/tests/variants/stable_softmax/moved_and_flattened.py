import numpy as np


def softmax_rows(matrix):
    out = np.empty(matrix.shape)
    for r, row in enumerate(matrix):
        shifted = [np.exp(value - row.max()) for value in row]
        out[r] = np.array(shifted) / sum(shifted)
    return out


def stable_softmax(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    return np.moveaxis(softmax_rows(flat).reshape(moved.shape), -1, axis)
