from __future__ import annotations

import numpy as np


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, blocked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError("q, k and v need four axes")
    (B, H, T, dh), S = q.shape, k.shape[2]
    if k.shape != (B, H, S, dh) or v.shape != (B, H, S, dh):
        raise ValueError(f"k and v must be {(B, H, S, dh)}")
    real = np.broadcast_to(np.True_ if blocked is None else ~blocked, (B, H, T, S))  # raises ValueError by itself
    scores = (q @ k.swapaxes(-1, -2)) * q.dtype.type(dh**-0.5)
    peak = scores.max(axis=-1, keepdims=True, where=real, initial=np.finfo(scores.dtype).min)
    odds = np.exp(scores - peak, where=real, out=np.zeros_like(scores))
    total = odds.sum(axis=-1, keepdims=True)
    weights = np.divide(odds, total, out=odds, where=total > 0)
    return weights @ v, weights
