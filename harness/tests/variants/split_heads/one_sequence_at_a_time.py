import numpy as np


def split_heads(x, heads):
    def one(sequence):
        return sequence.reshape(len(sequence), heads, -1).swapaxes(0, 1)

    return np.array([one(sequence) for sequence in x])


def merge_heads(x):
    return np.array([np.hstack(sequence) for sequence in x])
