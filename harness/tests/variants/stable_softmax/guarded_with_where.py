from __future__ import annotations

import numpy as np


def stable_softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    if scores.ndim == 0 or not -scores.ndim <= axis < scores.ndim:
        raise ValueError(f"no axis {axis} in an array of shape {scores.shape}")
    if scores.shape[axis] == 0:
        raise ValueError("cannot take probabilities over an empty axis")
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)
    finite = ~np.isneginf(scores)
    peak = np.max(scores, axis=axis, keepdims=True, where=finite, initial=np.finfo(scores.dtype).min)
    weights = np.zeros_like(scores)
    np.exp(scores - peak, out=weights, where=finite)
    total = weights.sum(axis=axis, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
