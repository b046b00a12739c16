import numpy as np


def embed(ids, token_embedding, position_embedding):
    wide = token_embedding.astype(np.longdouble)[ids] + position_embedding[: ids.shape[1]]
    return wide.astype(token_embedding.dtype)


def tied_logits(hidden, token_embedding):
    h = hidden.astype(np.longdouble)
    h = h - h.mean(-1, keepdims=True)
    h = h / np.sqrt((h * h).mean(-1, keepdims=True) + 1e-5)
    return np.dot(h, token_embedding.T.astype(np.longdouble)).astype(hidden.dtype)
