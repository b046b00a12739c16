import numpy as np


def causal_mask(length: int) -> np.ndarray:
    position = np.arange(length)
    return np.less.outer(position, position)
