"""Padding mask · 5 minutes

Sequences of one batch are filled up to one length with a padding token, which
attention must not look at. Write `padding_mask(ids, pad_id)` for the (B, S)
token ids of a source, and `decoder_mask(ids, pad_id)` for the (B, T) ids of a
target whose attention is causal as well. Both are to meet attention scores of
shape (B, H, T, S) as they are.

Contract
    True = blocked. padding_mask is (B, 1, 1, S) and True where the key is
    padding, for every head and every query alike.
    decoder_mask is (B, 1, T, T) and True at [b, 0, i, j] where key j is padding
    or lies ahead, j > i. Padding is blocked as a key only: a query that is
    padding keeps its row, which nobody reads.
    The dtype is bool. The padding id may be any number, and 0 an ordinary
    token. Nothing that is passed in is modified.
    Follow-up: ids of a wrong rank, or that are no integers, raise ValueError.

    Others say it otherwise: a Hugging Face attention_mask is (B, S) and 1 where
    there is a token; `scaled_dot_product_attention` keeps where it is True.

    >>> ids = np.array([[5, 7, 0], [6, 0, 0]])
    >>> padding_mask(ids, pad_id=0)
    array([[[[False, False,  True]]],
    <BLANKLINE>
    <BLANKLINE>
           [[[False,  True,  True]]]])
    >>> decoder_mask(ids[:1], pad_id=0)[0, 0]
    array([[False,  True,  True],
           [False, False,  True],
           [False, False,  True]])
"""

import numpy as np


def padding_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    if ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"ids must be (B, S) integers, not {ids.shape} {ids.dtype}")
    padding = ids == pad_id  # (B, S)
    return padding[:, None, None, :]


def decoder_mask(ids: np.ndarray, pad_id: int) -> np.ndarray:
    blocked = padding_mask(ids, pad_id)  # (B, 1, 1, T)
    T = ids.shape[1]
    future = np.triu(np.ones((T, T), dtype=bool), k=1)
    return blocked | future
