from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HeadLayout:
    width: int
    heads: int

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise ValueError(f"cannot lay {self.width} features out in {self.heads} heads")

    @property
    def size(self) -> int:
        return self.width // self.heads

    def apart(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).swapaxes(1, 2)

    def together(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], self.width)


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    if np.ndim(x) != 3:
        raise ValueError(f"expected (B, T, d), got {np.shape(x)}")
    return HeadLayout(x.shape[-1], heads).apart(x)


def merge_heads(x: np.ndarray) -> np.ndarray:
    if np.ndim(x) != 4:
        raise ValueError(f"expected (B, H, T, dh), got {np.shape(x)}")
    return HeadLayout(x.shape[1] * x.shape[3], x.shape[1]).together(x)
