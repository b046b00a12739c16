import numpy as np


def embed(ids, token_embedding, position_embedding):
    return np.stack(
        [token_embedding[row] + place for row, place in zip(ids.T, position_embedding, strict=False)], axis=1
    )


def logit_columns(normed, token_embedding):
    for row in token_embedding:
        yield (normed * row).sum(axis=-1)


def tied_logits(hidden, token_embedding):
    normed = (hidden - hidden.mean(-1, keepdims=True)) / (hidden.var(-1, keepdims=True) + 1e-5) ** 0.5
    return np.stack(tuple(logit_columns(normed, token_embedding)), axis=-1)
