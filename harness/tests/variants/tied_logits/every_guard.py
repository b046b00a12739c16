import numpy as np


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray) -> np.ndarray:
    if ids.dtype.kind not in "iu":
        raise ValueError("token ids are whole numbers")
    if ids.ndim != 2:
        raise ValueError("token ids come as (batch, tokens)")
    batch, tokens = ids.shape
    if batch == 0 or tokens == 0:
        raise ValueError("there is nothing to embed")
    if tokens > position_embedding.shape[0]:
        raise ValueError(f"{tokens} tokens, but only {position_embedding.shape[0]} positions")
    vocabulary = token_embedding.shape[0]
    strange = (ids < 0) | (ids >= vocabulary)
    if strange.any():
        raise ValueError(f"no token {ids[strange][0]} in a vocabulary of {vocabulary}")
    x = np.take(token_embedding, ids, axis=0)
    x += position_embedding[None, :tokens]
    return x


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    if hidden.ndim != 3 or token_embedding.ndim != 2:
        raise ValueError("expected hidden (B, T, d) and token_embedding (V, d)")
    if hidden.shape[2] != token_embedding.shape[1]:
        raise ValueError(f"widths differ: {hidden.shape[2]} and {token_embedding.shape[1]}")
    if hidden.shape[1] == 0:
        raise ValueError("no position to score")
    centred = hidden - hidden.mean(axis=2, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=2, keepdims=True) + hidden.dtype.type(1e-5))
    return np.einsum("btd,vd->btv", centred / deviation, token_embedding)
