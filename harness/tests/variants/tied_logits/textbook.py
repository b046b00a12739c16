import numpy as np


def embed(ids, token_embedding, position_embedding):
    _, T = ids.shape
    return token_embedding[ids] + position_embedding[np.arange(T)]


def layer_norm(x, eps=1e-5):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def tied_logits(hidden, token_embedding):
    return layer_norm(hidden) @ token_embedding.T
