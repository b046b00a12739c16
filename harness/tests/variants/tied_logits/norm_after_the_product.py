import numpy as np


def embed(ids, token_embedding, position_embedding):
    return token_embedding[ids] + position_embedding[: ids.shape[-1]]


def tied_logits(hidden, token_embedding):
    # LN is linear but for one factor a row, so the factor may wait, and the mean can be taken off the table instead.
    rows = token_embedding - token_embedding.mean(axis=1, keepdims=True)
    return (hidden @ rows.T) / np.sqrt(hidden.var(axis=-1, keepdims=True) + 1e-5)
