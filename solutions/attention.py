"""Scaled dot-product attention · 10 minutes

Write `attention(q, k, v, blocked=None)`, the one step of a transformer in which
tokens look at each other, for heads that are split already. q holds T queries,
(B, H, T, dh); k and v hold S keys and their values, (B, H, S, dh). A mask,
where one is given, tells which keys a query must not look at. Two arrays come
back: the output, (B, H, T, dh), and the weights, (B, H, T, S).

Contract
    weights = softmax(q k^T / sqrt(dh)) over the S keys, output = weights @ v:
    the output row of a query is the mean of the values, by its weights.
    `blocked` is boolean, True = this query must not see this key, before the
    softmax: blocked keys get a weight of exactly 0, and the weights of a query
    sum to 1 over the others. It broadcasts to (B, H, T, S), so (T, S),
    (B, 1, 1, S) and others work. None blocks nothing; no other mask is there.
    (`scaled_dot_product_attention` of torch says it the other way round, True =
    keep.)
    T and S may differ. No projections, no dropout: q, k and v are ready.
    Nothing that is passed in is modified.
    Follow-up: a query with every key blocked gets zero weights and a zero
    output, without NaN or warning; scores of 1e3 stay finite; shapes that do
    not fit raise ValueError; float32 in gives float32 out.

    >>> q = np.array([[[[1.0, 1.0]]]])  # one head, one query
    >>> k = np.array([[[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]]])  # three keys
    >>> v = np.array([[[[2.0, 0.0], [4.0, 6.0], [8.0, 8.0]]]])
    >>> hidden = np.array([[False, False, True]])
    >>> output, weights = attention(q, k, v, hidden)
    >>> weights
    array([[[[0.5, 0.5, 0. ]]]])
    >>> output
    array([[[[3., 3.]]]])
"""

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    peak = scores.max(axis=-1, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)  # a row of -inf alone: -inf - -inf would be NaN
    weights = np.exp(scores - peak)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def check_shapes(q: np.ndarray, k: np.ndarray, v: np.ndarray, blocked: np.ndarray | None) -> None:
    if q.ndim != 4 or k.shape != v.shape or (*q.shape[:2], q.shape[3]) != (*k.shape[:2], k.shape[-1]):
        raise ValueError(f"q {q.shape} must be (B, H, T, dh), k {k.shape} and v {v.shape} (B, H, S, dh)")
    shape = (*q.shape[:3], k.shape[2])
    if blocked is not None and np.broadcast_shapes(blocked.shape, shape) != shape:
        raise ValueError(f"blocked {blocked.shape} does not broadcast to {shape}")


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, blocked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    check_shapes(q, k, v, blocked)
    dh = q.shape[-1]
    scores = q @ k.swapaxes(-1, -2) / dh**0.5  # (B, H, T, S): queries down, keys across
    if blocked is not None:
        scores = np.where(blocked, -np.inf, scores)
    weights = softmax(scores)
    output = weights @ v  # (B, H, T, dh)
    return output, weights
