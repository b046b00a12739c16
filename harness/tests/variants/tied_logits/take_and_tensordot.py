import numpy as np


def embed(ids, token_embedding, position_embedding):
    tokens = token_embedding.take(ids, axis=0)
    places = position_embedding.take(range(ids.shape[1]), axis=0)
    return np.add(tokens, places[np.newaxis])


def tied_logits(hidden, token_embedding):
    normed = hidden - np.average(hidden, axis=2)[:, :, np.newaxis]
    normed = normed * np.power(np.average(normed**2, axis=2)[:, :, np.newaxis] + 1e-5, -0.5)
    return np.tensordot(normed, token_embedding, axes=([2], [1]))
