import numpy as np


def padding_mask(ids, pad_id):
    return np.array([[[[int(token) == pad_id for token in row]]] for row in ids])


def decoder_mask(ids, pad_id):
    T = len(ids[0])
    return np.array([[[[j > i or row[j] == pad_id for j in range(T)] for i in range(T)]] for row in ids], dtype=bool)
