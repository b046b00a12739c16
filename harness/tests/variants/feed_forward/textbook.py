import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3))))


def feed_forward(x, w1, b1, w2, b2):
    h = np.matmul(x, w1) + b1
    h = gelu(h)
    return np.matmul(h, w2) + b2
