import numpy as np


def sinusoidal_positions(length, width):
    t, j = np.indices((length, width))
    angle = t / 10000 ** (2 * (j // 2) / width)
    return np.where(j % 2 == 0, np.sin(angle), np.cos(angle))
