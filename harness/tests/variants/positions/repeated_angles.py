import numpy as np


def sinusoidal_positions(length, width):
    rates = [1 / 10000 ** (2 * i / width) for i in range(width // 2)]
    angles = np.repeat(np.outer(range(length), rates), 2, axis=1)
    angles[:, ::2] = np.sin(angles[:, ::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return np.asfortranarray(angles)
