import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    def one(row):
        return gamma * (row - row.mean()) / (row.var() + eps) ** 0.5 + beta

    return np.apply_along_axis(one, -1, x.astype(np.result_type(x, gamma)))
