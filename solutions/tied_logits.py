"""Embedding and tied logits · 10 minutes

Write the two ends of a GPT. `embed(ids, token_embedding, position_embedding)`
looks up the (B, T) token ids and tells the model where each token stands; the
result is (B, T, d). `tied_logits(hidden, token_embedding)` turns what leaves
the last block, (B, T, d), into a score for every token of the vocabulary,
(B, T, V), reusing the matrix that embedded the tokens. The tables are (V, d)
and (max_length, d).

Contract
    embed: the row of the token plus the row of its position, counted from 0;
    nothing is scaled.
    tied_logits: a final layer norm of `hidden` (last axis, biased variance,
    eps = 1e-5 inside the root, no gain or bias), then times the token embedding
    transposed. No output matrix of its own, no bias, no softmax: raw logits, at
    every position.
    Nothing that is passed in is modified.
    Follow-up: an id below 0 (NumPy would wrap to the end of the table) or >= V,
    ids that are not integers, a wrong rank, a batch of 0, T = 0 and
    T > max_length raise ValueError; float32 in gives float32 out.

    >>> E = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])  # 3 tokens
    >>> P = np.array([[0.5, 0.5], [3.0, 0.0]])  # 2 positions
    >>> embed(np.array([[2, 0]]), E, P)
    array([[[2.5, 2.5],
            [4. , 0. ]]])
    >>> tied_logits(np.array([[[3.0, 1.0]]]), E).round(3)
    array([[[ 1., -1.,  0.]]])

    A decoder is `embed`, a stack of blocks, `tied_logits`. With B = 2, T = 4
    and causal blocks, changing the token at index 3 leaves the logits at the
    indices 0 to 2 as they were.
"""

import numpy as np


def layer_norm(x: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray) -> np.ndarray:
    if ids.ndim != 2 or ids.size == 0:
        raise ValueError(f"ids must be (B, T) with B, T >= 1, not {ids.shape}")
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"ids must be integers, not {ids.dtype}")
    T, V, max_length = ids.shape[1], len(token_embedding), len(position_embedding)
    if T > max_length:
        raise ValueError(f"{T} tokens do not fit {max_length} positions")
    if ids.min() < 0 or ids.max() >= V:
        raise ValueError(f"ids must lie in 0..{V - 1}, not {ids.min()}..{ids.max()}")
    tokens = token_embedding[ids]  # (B, T, d)
    positions = position_embedding[:T]  # (T, d), the same in every row of the batch
    return tokens + positions


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    if hidden.ndim != 3 or hidden.shape[-1] != token_embedding.shape[-1]:
        raise ValueError(f"hidden {hidden.shape} and token_embedding {token_embedding.shape} do not fit")
    normed = layer_norm(hidden)
    return normed @ token_embedding.T  # (B, T, d) @ (d, V)
