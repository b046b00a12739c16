import math

import numpy as np


def entry(position, feature, width):
    angle = position / 10000 ** ((feature - feature % 2) / width)
    return math.cos(angle) if feature % 2 else math.sin(angle)


def sinusoidal_positions(length, width):
    return np.array([[entry(t, j, width) for j in range(width)] for t in range(length)])
