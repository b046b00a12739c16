from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MultiHeadAttention:
    wq: np.ndarray
    wk: np.ndarray
    wv: np.ndarray
    wo: np.ndarray
    heads: int

    def __call__(self, x: np.ndarray, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, k, v = (self._apart(x @ w) for w in (self.wq, self.wk, self.wv))
        logits = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        peak = np.max(logits, axis=-1, keepdims=True, where=visible, initial=-np.inf)
        odds = np.exp(np.where(visible, logits, -np.inf) - peak)
        weights = odds / odds.sum(axis=-1, keepdims=True)
        return self._joined(weights @ v) @ self.wo, weights

    def _apart(self, x: np.ndarray) -> np.ndarray:
        return np.stack(np.split(x, self.heads, axis=-1), axis=1)

    def _joined(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[:, h] for h in range(self.heads)], axis=-1)


def multi_head_attention(x, params, heads, blocked=None):
    shape = (x.shape[0], heads, x.shape[1], x.shape[1])
    visible = np.broadcast_to(True if blocked is None else np.logical_not(blocked), shape)
    return MultiHeadAttention(params["wq"], params["wk"], params["wv"], params["wo"], heads)(x, visible)
