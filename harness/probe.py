"""Seeded inputs that tell mistakes apart."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from harness.wire import Array

Rng = np.random.Generator


def generator(seed: int, *words: str) -> Rng:
    """The random source of one check: the same seed and check give the same inputs, in any order of running."""
    return np.random.default_rng([seed, *(zlib.crc32(word.encode()) for word in words)])


def whole(rng: Rng, *shape: int, top: int = 4) -> Array:
    """Small whole numbers as floats, for inputs that a person can follow."""
    return rng.integers(-top, top + 1, shape).astype(float)


def normal(rng: Rng, *shape: int, mean: float = 0.0, deviation: float = 1.0) -> Array:
    """Normally distributed entries."""
    return rng.normal(mean, deviation, shape)


def weights(rng: Rng, rows: int, columns: int) -> Array:
    """A weight matrix that keeps the variance of normalised rows: scores neither saturated nor almost uniform."""
    return rng.normal(0.0, rows**-0.5, (rows, columns))


def tokens(rng: Rng, B: int, T: int, d: int) -> Array:
    """Activations (B, T, d) whose rows differ in mean (within 100 deviations) and in spread, some of it low.

    Rows of a spread near 1e-2 show where a layer norm's epsilon stands.
    """
    spread = rng.choice([0.01, 0.3, 1.0, 5.0], (B, T, 1))
    return np.asarray(rng.standard_normal((B, T, d)) * spread + rng.normal(0, 2, (B, T, 1)) * spread)


def hidden(rng: Rng, *shape: int) -> Array:
    """A mask of some shape, True = blocked; every row keeps a key, and of three keys and more loses one."""
    blocked = rng.random(shape) < 0.3
    first = rng.integers(0, shape[-1], (*shape[:-1], 1))
    np.put_along_axis(blocked, first, shape[-1] > 2, axis=-1)
    np.put_along_axis(blocked, (first + 1) % shape[-1], False, axis=-1)
    return blocked


def block(rng: Rng, d: int, f: int) -> dict[str, Array]:
    """Weights of a pre-LN block under which neither the softmax nor the GELU is saturated."""
    square = {name: weights(rng, d, d) for name in ("wq", "wk", "wv", "wo")}
    return square | {"w1": weights(rng, d, f), "w2": weights(rng, f, d)}


def gpt(rng: Rng, V: int, d: int, f: int, layers: int, max_length: int) -> dict[str, Any]:
    """A model whose embedding rows differ in length and whose layers differ from each other."""
    tables = {"token_embedding": normal(rng, V, d) * rng.uniform(0.5, 2, (V, 1))}
    tables["position_embedding"] = normal(rng, max_length, d)
    return tables | {"layers": [block(rng, d, f) for _ in range(layers)]}
