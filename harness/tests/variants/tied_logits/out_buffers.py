import numpy as np


def embed(ids, token_embedding, position_embedding):
    out = np.empty((*ids.shape, token_embedding.shape[1]), dtype=token_embedding.dtype)
    np.take(token_embedding, ids, axis=0, out=out, mode="clip" if ids.size else "raise")
    np.add(out, position_embedding[: ids.shape[1]], out=out)
    return out


def tied_logits(hidden, token_embedding):
    buffer = np.subtract(hidden, hidden.mean(axis=-1, keepdims=True))
    scale = np.square(buffer).mean(axis=-1, keepdims=True)
    np.add(scale, 1e-5, out=scale)
    np.sqrt(scale, out=scale)
    np.divide(buffer, scale, out=buffer)
    logits = np.empty((*hidden.shape[:-1], len(token_embedding)), dtype=hidden.dtype)
    np.matmul(buffer, token_embedding.T, out=logits)
    return logits
