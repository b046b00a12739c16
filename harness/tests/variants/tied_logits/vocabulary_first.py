import numpy as np


def embed(ids, token_embedding, position_embedding):
    columns = np.asfortranarray(token_embedding.T)[:, ids]  # (d, B, T)
    return (columns + position_embedding[: ids.shape[1]].T[:, None, :]).transpose(1, 2, 0)


def tied_logits(hidden, token_embedding):
    h = hidden.T  # (d, T, B)
    h = (h - h.mean(axis=0)) / np.sqrt(h.var(axis=0) + 1e-5)
    return np.einsum("vd,dtb->vtb", token_embedding, h).transpose(2, 1, 0)
