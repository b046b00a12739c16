"""The decoder of an encoder-decoder model in plain Python, one token and one head at a time; see `scalar`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from harness.tests.scalar import Matrix, Nested, Row, softmax

Hidden = Sequence[Sequence[Sequence[bool]]]  # head, query, key


def decoder(
    x: Nested, memory: Nested, layers: Sequence[Any], heads: int, gamma: Row, beta: Row, own: Nested, source: Nested
) -> Nested:
    """The stack for each sequence of a batch; `own` and `source` hold for each of them which keys are hidden."""
    out = []
    for rows, remembered, target_hidden, memory_hidden in zip(x, memory, own, source, strict=True):
        for params in layers:
            rows = decoder_layer(rows, remembered, params, heads, target_hidden, memory_hidden)
        out.append([norm(row, gamma, beta) for row in rows])
    return out


def decoder_layer(rows: Matrix, memory: Matrix, p: Any, heads: int, own: Hidden, source: Hidden) -> Matrix:
    """One sequence through the three sublayers."""
    normed = [norm(row, p["g1"], p["b1"]) for row in rows]
    seen = [[[hide or s > t for s, hide in enumerate(line)] for t, line in enumerate(head)] for head in own]
    rows = _plus(rows, _look(normed, normed, [p["w" + n] for n in "qkvo"], heads, seen))
    normed = [norm(row, p["g2"], p["b2"]) for row in rows]
    rows = _plus(rows, _look(normed, memory, [p["c" + n] for n in "qkvo"], heads, source))
    fed = []
    for row in rows:
        inner = [a + c for a, c in zip(_times(norm(row, p["g3"], p["b3"]), p["w1"]), p["c1"], strict=True)]
        narrow = _times([a if a > 0 else 0.0 for a in inner], p["w2"])
        fed.append([a + c for a, c in zip(narrow, p["c2"], strict=True)])
    return _plus(rows, fed)


def generator(rows: Matrix, projection: Matrix, bias: Row) -> list[list[float]]:
    """The log-probability of every token, for each row."""
    out = []
    for row in rows:
        logits = [a + b for a, b in zip(_times(row, projection), bias, strict=True)]
        largest = max(logits)
        total = largest + math.log(math.fsum(math.exp(z - largest) for z in logits))
        out.append([z - total for z in logits])
    return out


def norm(row: Row, gain: Row, bias: Row) -> list[float]:
    """One row, centred and scaled, with its gain and its bias."""
    mean = math.fsum(row) / len(row)
    variance = math.fsum((value - mean) ** 2 for value in row) / len(row)
    return [g * (a - mean) / math.sqrt(variance + 1e-5) + b for a, g, b in zip(row, gain, bias, strict=True)]


def _look(rows: Matrix, source: Matrix, weights: Sequence[Matrix], heads: int, hidden: Hidden) -> Matrix:
    """What each row finds in the source, head by head, and projected."""
    wq, wk, wv, wo = weights
    size = len(wq) // heads
    keys, values = [_times(row, wk) for row in source], [_times(row, wv) for row in source]
    out = []
    for t, row in enumerate(rows):
        query, context = _times(row, wq), []
        for h in range(heads):
            own = range(h * size, (h + 1) * size)
            scores = [math.fsum(query[i] * key[i] for i in own) / math.sqrt(size) for key in keys]
            shares = softmax([-math.inf if hidden[h][t][s] else score for s, score in enumerate(scores)])
            context += [math.fsum(w * value[i] for w, value in zip(shares, values, strict=True)) for i in own]
        out.append(_times(context, wo))
    return out


def _times(row: Row, weight: Matrix) -> list[float]:
    return [math.fsum(a * line[j] for a, line in zip(row, weight, strict=True)) for j in range(len(weight[0]))]


def _plus(rows: Matrix, others: Matrix) -> Matrix:
    return [[a + b for a, b in zip(row, other, strict=True)] for row, other in zip(rows, others, strict=True)]
