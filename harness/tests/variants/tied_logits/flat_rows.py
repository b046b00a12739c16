from functools import reduce

import numpy as np


def embed(ids, token_embedding, position_embedding):
    flat = ids.ravel()
    place = np.tile(np.arange(ids.shape[1]), ids.shape[0])
    rows = reduce(np.add, (token_embedding[flat], position_embedding[place]))
    return rows.reshape(*ids.shape, -1)


def tied_logits(hidden, token_embedding):
    rows = hidden.reshape(-1, hidden.shape[-1])
    rows = (rows - rows.mean(1)[:, None]) / np.sqrt(rows.var(1) + 1e-5)[:, None]
    return (token_embedding @ rows.T).T.reshape(*hidden.shape[:-1], -1)
