"""The short katas of track 2 once more in plain Python, one token and one entry at a time; see `scalar`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.tests.scalar import Matrix, Nested, Row, gelu


def layer_norm(x: Nested, gamma: Row, beta: Row, eps: float) -> Nested:
    """Each innermost list by itself."""
    if isinstance(x[0], list):
        return [layer_norm(part, gamma, beta, eps) for part in x]
    mean = math.fsum(x) / len(x)
    variance = math.fsum((value - mean) ** 2 for value in x) / len(x)
    return [(v - mean) / math.sqrt(variance + eps) * g + b for v, g, b in zip(x, gamma, beta, strict=True)]


def feed_forward(x: Nested, w1: Matrix, b1: Row, w2: Matrix, b2: Row) -> Nested:
    """Two layers for each innermost list."""
    if isinstance(x[0], list):
        return [feed_forward(part, w1, b1, w2, b2) for part in x]
    inner = [gelu(value) for value in _affine(x, w1, b1)]
    return _affine(inner, w2, b2)


def sinusoidal_positions(length: int, width: int) -> list[list[float]]:
    """A sine and a cosine of each frequency, one pair after the other."""
    rows = []
    for position in range(length):
        row: list[float] = []
        for pair in range(width // 2):
            angle = position / math.pow(10000, 2 * pair / width)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows


def padding_mask(ids: Sequence[Sequence[int]], pad_id: int) -> list[list[list[list[bool]]]]:
    """For each row of the batch: one head, one query, and which keys it must not see."""
    return [[[[token == pad_id for token in row]]] for row in ids]


def decoder_mask(ids: Sequence[Sequence[int]], pad_id: int) -> list[list[list[list[bool]]]]:
    """For each row of the batch: one head, and for each query which keys it must not see."""
    return [[[[key > query or t == pad_id for key, t in enumerate(row)] for query in range(len(row))]] for row in ids]


def _affine(row: Row, weight: Matrix, bias: Row) -> list[float]:
    return [math.fsum(v * line[j] for v, line in zip(row, weight, strict=True)) + b for j, b in enumerate(bias)]
