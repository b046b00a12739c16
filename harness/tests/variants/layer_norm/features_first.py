import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    turned = np.moveaxis(x, -1, 0)
    turned = turned - turned.mean(axis=0)
    turned = turned / np.sqrt((turned * turned).mean(axis=0) + eps)
    return np.moveaxis(turned, 0, -1) * gamma + beta
