import numpy as np


def embed(ids, token_embedding, position_embedding):
    x = position_embedding[: ids.shape[1]] + np.zeros((len(ids), 1, 1))
    for v, row in enumerate(token_embedding):
        x[ids == v] += row
    return x


def tied_logits(hidden, token_embedding):
    first, second = hidden.mean(-1, keepdims=True), (hidden**2).mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(second - first**2 + 1e-5)
    return np.matmul(hidden * inverse - first * inverse, token_embedding.swapaxes(0, 1))
