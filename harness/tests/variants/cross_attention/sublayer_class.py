from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class CrossAttention:
    wq: np.ndarray
    wk: np.ndarray
    wv: np.ndarray
    wo: np.ndarray
    heads: int
    eps: float = 1e-5

    @classmethod
    def of(cls, params: dict[str, np.ndarray], heads: int) -> CrossAttention:
        return cls(params["wq"], params["wk"], params["wv"], params["wo"], heads)

    def remember(self, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The keys and values, which do not change from one decoding step to the next."""
        return self._apart(memory @ self.wk), self._apart(memory @ self.wv)

    def __call__(self, x: np.ndarray, memory: np.ndarray, visible: np.ndarray) -> np.ndarray:
        keys, values = self.remember(memory)
        queries = self._apart(self._normed(x) @ self.wq)
        logits = queries @ keys.swapaxes(-1, -2) / queries.shape[-1] ** 0.5
        logits = np.where(visible, logits, np.finfo(logits.dtype).min)
        weights = np.exp(logits - logits.max(-1, keepdims=True)) * visible
        weights = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(logits.dtype).tiny)
        return x + (weights @ values).swapaxes(1, 2).reshape(x.shape) @ self.wo

    def _apart(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2)

    def _normed(self, x: np.ndarray) -> np.ndarray:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps)


def cross_attention(x, memory, params, heads, memory_padding=None):
    if memory_padding is None:
        memory_padding = np.zeros(memory.shape[:2], dtype=bool)
    return CrossAttention.of(params, heads)(x, memory, ~memory_padding[:, None, None, :])
