from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Layer = Callable[[np.ndarray], np.ndarray]


class Norm(NamedTuple):
    gain: np.ndarray
    bias: np.ndarray
    eps: float = 1e-6

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps) * self.gain + self.bias


@dataclass
class CausalAttention:
    weights: dict[str, np.ndarray]
    heads: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        q, k, v = (np.stack(np.split(x @ self.weights[n], self.heads, -1), 1) for n in ("wq", "wk", "wv"))
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        rows, columns = np.triu_indices(x.shape[1], 1)
        scores[..., rows, columns] = np.finfo(scores.dtype).min
        odds = np.exp(scores - scores.max(-1, keepdims=True))
        context = odds / odds.sum(-1, keepdims=True) @ v
        return np.concatenate(list(context.swapaxes(0, 1)), -1) @ self.weights["wo"]


@dataclass
class Network:
    w1: np.ndarray
    c1: np.ndarray
    w2: np.ndarray
    c2: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x @ self.w1 + self.c1, 0, None) @ self.w2 + self.c2


def post_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    network = Network(*(params[name] for name in ("w1", "c1", "w2", "c2")))
    steps: list[tuple[Layer, Layer]] = [
        (CausalAttention(params, heads), Norm(params["g1"], params["b1"])),
        (network, Norm(params["g2"], params["b2"])),
    ]
    for branch, norm in steps:
        x = norm(x + branch(x))
    return x
