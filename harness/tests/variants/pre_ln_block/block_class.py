from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class LayerNorm:
    eps: float = 1e-5

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps)


@dataclass
class CausalSelfAttention:
    wq: np.ndarray
    wk: np.ndarray
    wv: np.ndarray
    wo: np.ndarray
    heads: int

    def split(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:-1], self.heads, -1).swapaxes(-2, -3)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        q, k, v = self.split(x @ self.wq), self.split(x @ self.wk), self.split(x @ self.wv)
        logits = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        position = np.arange(x.shape[-2])
        logits = np.where(np.less.outer(position, position), np.finfo(logits.dtype).min, logits)
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        return (weights @ v).swapaxes(-2, -3).reshape(x.shape) @ self.wo


@dataclass
class FeedForward:
    w1: np.ndarray
    w2: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        h = x @ self.w1
        return (0.5 * h * (1 + np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h**3)))) @ self.w2


@dataclass
class Block:
    attention: CausalSelfAttention
    feed_forward: FeedForward
    norm: LayerNorm = field(default_factory=LayerNorm)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        for sublayer in (self.attention, self.feed_forward):
            x = x + sublayer(self.norm(x))
        return x


def pre_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    attention = CausalSelfAttention(*(params[name] for name in ("wq", "wk", "wv", "wo")), heads)
    return Block(attention, FeedForward(params["w1"], params["w2"]))(x)
