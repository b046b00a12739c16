import numpy as np


def sinusoidal_positions(length, width):
    """Each pair is a point on the unit circle: a complex number, of which the imaginary part comes first."""
    rate = np.logspace(0, -4, width // 2, endpoint=False)
    points = np.exp(1j * np.outer(np.arange(length), rate))
    return np.stack([points.imag, points.real], axis=-1).reshape(length, width)
