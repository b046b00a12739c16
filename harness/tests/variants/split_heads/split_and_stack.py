import numpy as np


def split_heads(x, heads):
    return np.stack(np.split(x, heads, axis=-1), axis=1)


def merge_heads(x):
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)
