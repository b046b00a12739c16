"""The six katas once more in plain Python: lists and `math`, head by head and token by token.

An independent reference for the tests. It shares no code with the solutions, and no array library takes part, so that
a misunderstanding of reshape, transpose or broadcasting cannot be in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Row = Sequence[float]
Matrix = Sequence[Row]
Batch = Sequence[Matrix]
Params = Mapping[str, Matrix]
Nested = Any  # lists of lists, of any depth

EPS = 1e-5


def causal_mask(length: int) -> list[list[bool]]:
    """Row i blocks every key after i."""
    return [[False] * (query + 1) + [True] * (length - query - 1) for query in range(length)]


def softmax(scores: Row) -> list[float]:
    """Probabilities of one list of scores; all zeros where every score is -inf."""
    largest = max(scores)
    if largest == -math.inf:
        return [0.0 for _ in scores]
    powers = [math.exp(score - largest) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


def stable_softmax(scores: Nested, axis: int = -1) -> Nested:
    """Probabilities along one axis of lists of lists."""
    if axis < 0:
        axis += _depth(scores)
    if axis > 0:
        return [stable_softmax(part, axis - 1) for part in scores]
    if not isinstance(scores[0], list):
        return softmax(scores)
    columns = [stable_softmax([part[i] for part in scores], 0) for i in range(len(scores[0]))]
    return [[column[row] for column in columns] for row in range(len(scores))]


def _depth(nested: Nested) -> int:
    return 1 + _depth(nested[0]) if isinstance(nested, list) else 0


def split_heads(x: Batch, heads: int) -> list[list[list[list[float]]]]:
    """Head h of every token: its h-th run of features."""
    size = len(x[0][0]) // heads
    return [[[list(token[h * size : (h + 1) * size]) for token in tokens] for h in range(heads)] for tokens in x]


def merge_heads(x: Sequence[Batch]) -> list[list[list[float]]]:
    """The heads of every token, one after the other."""
    return [[[value for head in heads for value in head[t]] for t in range(len(heads[0]))] for heads in x]


def embed(ids: Sequence[Sequence[int]], tokens: Matrix, positions: Matrix) -> list[list[list[float]]]:
    """The row of each token plus the row of its place."""
    return [[_add(tokens[token], positions[place]) for place, token in enumerate(row)] for row in ids]


def tied_logits(hidden: Batch, tokens: Matrix) -> list[list[list[float]]]:
    """How well each normalised hidden row agrees with each token's embedding."""
    return [[[_dot(layer_norm(h), token) for token in tokens] for h in rows] for rows in hidden]


def pre_ln_block(x: Batch, params: Params, heads: int) -> list[list[list[float]]]:
    """Causal self-attention and the feed-forward network, a residual branch each, for one sequence after the other."""
    return [[_feed(row, params) for row in _attend_to_itself(sequence, params, heads)] for sequence in x]


def cross_attention(
    x: Batch, memory: Batch, params: Params, heads: int, padding: Sequence[Sequence[bool]] | None = None
) -> list[list[list[float]]]:
    """Every token of `x` reads the memory of its batch row where that is no padding."""
    out = []
    for b, sequence in enumerate(x):
        source = [row for s, row in enumerate(memory[b]) if padding is None or not padding[b][s]]
        keys, values = [_times(row, params["wk"]) for row in source], [_times(row, params["wv"]) for row in source]
        queries = [_times(layer_norm(row), params["wq"]) for row in sequence]
        contexts = [_look(query, keys, values, heads) for query in queries]
        out.append([_add(row, _times(c, params["wo"])) for row, c in zip(sequence, contexts, strict=True)])
    return out


def decoder(
    ids: Sequence[Sequence[int]], tokens: Matrix, positions: Matrix, layers: Sequence[Params], heads: int
) -> list[list[list[float]]]:
    """From token ids to logits."""
    x = embed(ids, tokens, positions)
    for params in layers:
        x = pre_ln_block(x, params, heads)
    return tied_logits(x, tokens)


def layer_norm(row: Row) -> list[float]:
    """One row with its mean taken off, over its deviation."""
    mean = math.fsum(row) / len(row)
    variance = math.fsum((value - mean) ** 2 for value in row) / len(row)
    return [(value - mean) / math.sqrt(variance + EPS) for value in row]


def gelu(value: float) -> float:
    """The tanh approximation."""
    return 0.5 * value * (1 + math.tanh(math.sqrt(2 / math.pi) * (value + 0.044715 * value**3)))


def _attend_to_itself(sequence: Matrix, params: Params, heads: int) -> list[list[float]]:
    rows = [layer_norm(row) for row in sequence]
    keys, values = [_times(row, params["wk"]) for row in rows], [_times(row, params["wv"]) for row in rows]
    out = []
    for t, row in enumerate(rows):
        context = _look(_times(row, params["wq"]), keys[: t + 1], values[: t + 1], heads)
        out.append(_add(sequence[t], _times(context, params["wo"])))
    return out


def _feed(row: Row, params: Params) -> list[float]:
    inner = [gelu(value) for value in _times(layer_norm(row), params["w1"])]
    return _add(row, _times(inner, params["w2"]))


def _look(query: Row, keys: Matrix, values: Matrix, heads: int) -> list[float]:
    """What one query reads, its heads side by side; zeros where there is no key."""
    size = len(query) // heads
    context: list[float] = []
    for first in range(0, len(query), size):
        own = slice(first, first + size)
        scores = [_dot(query[own], key[own]) / math.sqrt(size) for key in keys]
        weights = softmax(scores) if scores else []
        context += [
            math.fsum(w * v[i] for w, v in zip(weights, values, strict=True)) for i in range(*own.indices(len(query)))
        ]
    return context


def _dot(a: Row, b: Row) -> float:
    return math.fsum(p * q for p, q in zip(a, b, strict=True))


def _times(row: Row, weight: Matrix) -> list[float]:
    """A row times a matrix, from the left: entry j goes down column j."""
    return [_dot(row, [line[j] for line in weight]) for j in range(len(weight[0]))]


def _add(a: Row, b: Row) -> list[float]:
    return [p + q for p, q in zip(a, b, strict=True)]
