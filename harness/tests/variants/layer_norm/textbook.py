import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    std = np.sqrt(np.mean((x - mean) ** 2, axis=-1, keepdims=True) + eps)
    return gamma * (x - mean) / std + beta
