"""Stable softmax · 5 minutes

Write `stable_softmax(scores, axis=-1)`: turn scores into probabilities along
`axis`. It has to hold for scores of any size, and for attention scores in which
some entries are masked out.

Contract
    The result has the shape of `scores` (any rank from 1) and sums to 1 along
    `axis`, whichever axis that is.
    Scores of ±1e5 stay finite, without a warning. An entry of -inf gets
    exactly 0. Integer scores work. The input is not modified.
    Follow-up: a slice that is all -inf gives zeros, no NaN and no warning; a
    NaN stays inside its own slice; an empty axis raises ValueError; float32 in
    gives float32 out.

    >>> stable_softmax(np.array([[0.0, 0.0], [-np.inf, 1000.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> stable_softmax(np.array([[3, 5], [3, 5]]), axis=0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
"""

import numpy as np


def stable_softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    if scores.shape[axis] == 0:
        raise ValueError(f"axis {axis} of {scores.shape} is empty: there is nothing to normalise")
    peak = scores.max(axis=axis, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)  # a slice of -inf alone: -inf - -inf would be NaN
    weights = np.exp(scores - peak)
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)
