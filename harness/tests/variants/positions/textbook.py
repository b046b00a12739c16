import numpy as np


def sinusoidal_positions(length, width):
    pe = np.zeros((length, width))
    position = np.arange(0, length)[:, np.newaxis]
    div_term = np.exp(np.arange(0, width, 2) * -(np.log(10000.0) / width))
    pe[:, 0::2] = np.sin(position * div_term)
    pe[:, 1::2] = np.cos(position * div_term)
    return pe
