from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ends:
    token: np.ndarray
    position: np.ndarray | None = None

    def enter(self, ids: np.ndarray) -> np.ndarray:
        assert self.position is not None
        return self.token[ids] + self.position[: ids.shape[1]]

    def leave(self, hidden: np.ndarray) -> np.ndarray:
        return self.norm(hidden) @ self.token.T

    @staticmethod
    def norm(x: np.ndarray) -> np.ndarray:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-5)


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray) -> np.ndarray:
    return Ends(token_embedding, position_embedding).enter(ids)


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    return Ends(token_embedding).leave(hidden)
