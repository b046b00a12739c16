from typing import NamedTuple

import numpy as np


class Attended(NamedTuple):
    output: np.ndarray
    weights: np.ndarray


def attention(q, k, v, blocked=None):
    """Every head of every sequence is a problem of its own, one after the other."""
    (B, H, T, _), S = q.shape, k.shape[2]
    hidden = np.zeros((B, H, T, S), bool) if blocked is None else np.broadcast_to(blocked, (B, H, T, S))
    folded = [a.reshape(B * H, *a.shape[2:]) for a in (q, k, v, hidden)]
    found = [one_head(*parts) for parts in zip(*folded, strict=True)]
    output, weights = (np.array(parts).reshape(B, H, T, -1) for parts in zip(*found, strict=True))
    return tuple(Attended(output, weights))


def one_head(q, k, v, hidden):
    scores = np.dot(q, k.T) / np.sqrt(len(q.T))
    scores[hidden] = -np.inf
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    return np.dot(weights, v), weights
