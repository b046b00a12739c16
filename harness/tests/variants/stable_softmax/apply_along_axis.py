import numpy as np


def _softmax_1d(line):
    line = np.exp(line - line.max())
    return line / line.sum()


def stable_softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.apply_along_axis(_softmax_1d, axis, scores)
