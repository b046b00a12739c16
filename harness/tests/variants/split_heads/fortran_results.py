import numpy as np


def split_heads(x, heads):
    B, T, d = x.shape
    # In Fortran order the feature axis is cut into (dh, H) by a reshape, the fastest index first.
    cut = np.asfortranarray(x).reshape((B, T, d // heads, heads), order="F")
    return np.asfortranarray(cut.transpose(0, 3, 1, 2))


def merge_heads(x):
    B, H, T, dh = x.shape
    return np.asfortranarray(x.transpose(0, 2, 3, 1)).reshape((B, T, dh * H), order="F")
