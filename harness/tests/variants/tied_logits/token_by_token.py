import math

import numpy as np


def embed(ids, token_embedding, position_embedding):
    B, T = ids.shape
    out = np.zeros((B, T, token_embedding.shape[1]))
    for b in range(B):
        for t in range(T):
            out[b, t] = token_embedding[ids[b, t]] + position_embedding[t]
    return out


def tied_logits(hidden, token_embedding):
    B, T, d = hidden.shape
    out = np.zeros((B, T, len(token_embedding)))
    for b in range(B):
        for t in range(T):
            h = hidden[b, t]
            mean = sum(h) / d
            variance = sum((value - mean) ** 2 for value in h) / d
            unit = (h - mean) / math.sqrt(variance + 1e-5)
            for v, row in enumerate(token_embedding):
                out[b, t, v] = np.dot(unit, row)
    return out
