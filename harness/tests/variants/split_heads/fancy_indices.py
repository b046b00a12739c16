import numpy as np


def split_heads(x, heads):
    features = np.arange(x.shape[2]).reshape(heads, -1)
    return np.moveaxis(x[:, :, features], 2, 1)


def merge_heads(x):
    feature = np.arange(x.shape[1] * x.shape[3])
    head, within = np.divmod(feature, x.shape[3])
    return x[:, head, :, within].transpose(1, 2, 0)
