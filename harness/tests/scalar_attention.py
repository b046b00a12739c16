"""Attention, its multi-head layer and the post-LN block in plain Python, one query at a time; see `scalar`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from harness.tests.scalar import Batch, Matrix, Params, Row, softmax

Hidden = Callable[[int, int, int, int], bool]  # batch row, head, query, key
Rows = list[list[list[float]]]


def nothing(b: int, h: int, t: int, s: int) -> bool:
    """No key is hidden from any query."""
    return False


def attention(
    q: Sequence[Batch], k: Sequence[Batch], v: Sequence[Batch], hidden: Hidden = nothing
) -> tuple[list[Rows], list[Rows]]:
    """The outputs and the weights of every query; zeros where everything is hidden."""
    output: list[Rows] = []
    weights: list[Rows] = []
    for b, heads in enumerate(q):
        found = [
            [_ask(query, k[b][h], v[b][h], _row(hidden, b, h, t, len(k[b][h]))) for t, query in enumerate(head)]
            for h, head in enumerate(heads)
        ]
        output.append([[context for context, _ in head] for head in found])
        weights.append([[shares for _, shares in head] for head in found])
    return output, weights


def multi_head_attention(x: Batch, params: Params, heads: int, hidden: Hidden = nothing) -> tuple[Rows, list[Rows]]:
    """Self-attention with its four projections: each head has its run of columns of wq, wk and wv."""
    output: Rows = []
    weights: list[Rows] = []
    size = len(params["wq"]) // heads
    for b, rows in enumerate(x):
        contexts: list[list[float]] = [[] for _ in rows]
        weights.append([])
        for h in range(heads):
            q, k, v = ([_columns(row, params[n], h * size, size) for row in rows] for n in ("wq", "wk", "wv"))
            found = [_ask(query, k, v, _row(hidden, b, h, t, len(rows))) for t, query in enumerate(q)]
            weights[b].append([shares for _, shares in found])
            contexts = [joined + context for joined, (context, _) in zip(contexts, found, strict=True)]
        output.append([_columns(context, params["wo"], 0, len(params["wo"][0])) for context in contexts])
    return output, weights


def post_ln_block(x: Batch, params: Params, vectors: dict[str, Row], heads: int) -> Rows:
    """Causal attention and a ReLU network, and after each sum a norm."""
    attended, _ = multi_head_attention(x, params, heads, lambda b, h, t, s: s > t)
    return [
        [_rest(token, branch, params, vectors) for token, branch in zip(*pair, strict=True)]
        for pair in zip(x, attended, strict=True)
    ]


def _rest(token: Row, branch: Row, params: Params, vectors: dict[str, Row]) -> list[float]:
    """One token from the first sum to the end of the block."""
    first = _norm([a + b for a, b in zip(token, branch, strict=True)], vectors["g1"], vectors["b1"])
    wide = _columns(first, params["w1"], 0, len(vectors["c1"]))
    inner = [a + c if a + c > 0 else 0.0 for a, c in zip(wide, vectors["c1"], strict=True)]
    narrow = _columns(inner, params["w2"], 0, len(first))
    sums = [a + b + c for a, b, c in zip(first, narrow, vectors["c2"], strict=True)]
    return _norm(sums, vectors["g2"], vectors["b2"])


def _norm(row: Row, gain: Row, bias: Row) -> list[float]:
    mean = math.fsum(row) / len(row)
    variance = math.fsum((value - mean) ** 2 for value in row) / len(row)
    return [g * (a - mean) / math.sqrt(variance + 1e-6) + b for a, g, b in zip(row, gain, bias, strict=True)]


def _row(hidden: Hidden, b: int, h: int, t: int, keys: int) -> list[bool]:
    return [hidden(b, h, t, s) for s in range(keys)]


def _ask(query: Row, keys: Matrix, values: Matrix, hidden: Sequence[bool]) -> tuple[list[float], list[float]]:
    """What one query fetches, and its weights."""
    scores = [
        -math.inf if no else math.fsum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(len(query))
        for key, no in zip(keys, hidden, strict=True)
    ]
    weights = softmax(scores)
    return [math.fsum(w * v[i] for w, v in zip(weights, values, strict=True)) for i in range(len(values[0]))], weights


def _columns(row: Row, weight: Matrix, first: int, count: int) -> list[float]:
    """A row times some columns of a matrix."""
    return [math.fsum(a * line[j] for a, line in zip(row, weight, strict=True)) for j in range(first, first + count)]
