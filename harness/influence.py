"""Who sees whom in a causal layer: the direction of its mask, read off the attention matrix and put into words.

The matrix is read with the other paths of the layer closed, and so with its diagonal, which residuals hide from a map
of what moves what (`moves`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from harness.wire import Array

Direction = Literal["causal", "reversed", "no mask", "diagonal blocked", "inverted", "leaks", "other"]
CLOSED = 7
FAINT = 0.02


class Reading(NamedTuple):
    """What a map says of a causal mask, in one word and in words; `sees` is the map that was read, if there is one."""

    direction: Direction
    words: str
    sees: Array | None = None


def closed_rows() -> Array:
    """The x (2, T, d), T = CLOSED and d = 32, for `closed_map`: every layer norm, of whatever axes, only scales it.

    Its entries are 1 and -1. Each row holds as many of the one as of the other, and so do the two batch rows together;
    each column sums to 1 or -1, so that a norm over the positions takes away their mean and scales all columns alike.
    """
    signs = list(itertools.combinations(range(CLOSED), CLOSED // 2 + 1))
    half = -np.ones((CLOSED, 16))
    for column in range(16):
        half[list(signs[6 * column % len(signs)]), column] = 1
    rows = np.concatenate([half, -half], axis=1)[:, np.arange(32) * 5 % 32]
    return np.stack([rows, -rows])


def closed_mix() -> Array:
    """The value weights (d, d) for `closed_map`: they turn the features round, and so mark what attention carries.

    Symmetric, so that weights applied transposed do the same.
    """
    return np.eye(32)[::-1].copy()


def passing(width: int) -> dict[str, Array]:
    """w1 and w2 through which a feed-forward gives back what it is given: gelu(z) - gelu(-z) = z, and so for ReLU."""
    both = np.concatenate([np.eye(width), -np.eye(width)])
    return {"w1": both.T.copy(), "w2": both}


def closed_layers() -> list[tuple[Array, dict[str, Array], int]]:
    """Calls (x, params, heads) for `closed_map`: with the feed-forward at nought, and with one that only passes on.

    The scores are tiny, but none is 0: code may mark what is blocked by a 0 and fill those.
    """
    x, mix, one = closed_rows(), closed_mix(), np.eye(32)
    attention = {"wq": 1e-4 * (mix + np.diag(np.linspace(0.1, 1, 32))), "wk": mix, "wv": mix, "wo": one}
    return [(x, attention | {"w1": one, "w2": 0 * one}, 1), (x, attention | passing(32), 1)]


def closed_map(outs: Iterable[Any]) -> Reading:
    """The direction of a causal mask, from results of one layer with its other paths closed, the plainest first.

    Each result is of a call on `closed_rows()` with one head, queries near zero, so that every visible key weighs about
    the same, `closed_mix()` for the values and the identity for the output. So each row of a result is a sum of rows of
    x (what residuals carry) and of turned rows (what attention carries), and as all of these are independent, the sums
    can be told apart: the second part is the attention matrix, diagonal included, whatever the residuals and norms do.
    The first result that can be read so, and whose attention is not nothing, decides.
    """
    faint = None
    for out in outs:
        attention = attention_of(out)
        if attention is not None and np.nansum(np.abs(attention)) > 0:
            return reading(visible(attention), finite_rows(attention))
        faint = attention if faint is None else faint
    if faint is None:
        return Reading("other", "")
    finite = finite_rows(faint)
    words = "nothing is added: no position sees any, not even itself" if finite.all() else _nan(finite)
    return Reading("other", words, np.zeros((CLOSED, CLOSED), bool))


def attention_of(out: Any) -> Array | None:
    """The attention matrix (T, T) in a result for `closed_rows()`, each row up to a factor; NaN rows stay NaN.

    None when the result is not made of such rows.
    """
    x = closed_rows()
    if not isinstance(out, np.ndarray) or out.shape != x.shape or out.dtype.kind != "f":
        return None
    basis = np.concatenate([x[0], x[0] @ closed_mix()])
    finite = finite_rows(out[0])
    rows = np.where(finite[:, None], out[0], 0.0).astype(float)
    parts = rows @ np.linalg.pinv(basis)
    largest = np.abs(rows).max()
    if np.abs(parts @ basis - rows).max() > 1e-4 * largest:
        return None
    attention = np.where(np.abs(parts) > 1e-9 * largest, parts, 0.0)[:, CLOSED:]
    return np.where(finite[:, None], attention, np.nan)


def finite_rows(matrix: Array) -> Array:
    """Which rows hold no NaN and no infinity."""
    return np.asarray(np.isfinite(matrix).all(axis=1))


def visible(attention: Array) -> Array:
    """Where an attention matrix is not zero, as bool; False in NaN rows.

    Rows that all sum to 0 come from a norm over the positions, which takes the mean of the values away and so the same
    from every entry of a row: there the smallest entry stands for zero, unless all of them are alike.
    """
    weights = np.where(np.isfinite(attention), attention, 0.0)
    scale = np.abs(weights).max()
    if np.abs(weights.sum(axis=1)).max() <= 1e-4 * scale:
        lowest = weights.min(axis=1, keepdims=True)
        alike = np.ptp(weights, axis=1, keepdims=True) <= FAINT * scale
        return np.asarray((weights - lowest > FAINT * scale) | (alike & np.isfinite(attention)))
    return np.asarray(np.abs(weights) > FAINT * scale)


def reading(sees: Array, rows: Array | None = None) -> Reading:
    """What a (T, T) map, T >= 3, says of a causal mask. `rows` is False where a row is not finite.

    A row that has nothing to see may hold anything: NaN, or every position.
    """
    rows = np.ones(len(sees), bool) if rows is None else rows
    i, j = np.indices(sees.shape)

    def is_(map_: Any, without: int | None = None) -> bool:
        kept = np.ones(len(sees), bool)
        if without is not None:
            kept[without] = False
        return bool(rows[kept].all() and (sees[kept] == map_[kept]).all())

    if is_(j <= i):
        return Reading("causal", "position i sees the positions j <= i, as it should", sees)
    if is_(j >= i):
        return Reading("reversed", "reversed: position i sees only j >= i", sees)
    if is_(j >= 0):
        return Reading("no mask", "no mask: every position sees every other, the future too", sees)
    if is_(j < i, without=0):
        return Reading("diagonal blocked", "the diagonal is blocked: position i sees only j < i, not itself", sees)
    if is_(j > i, without=-1):
        return Reading("inverted", "inverted: position i sees only j > i, the future without itself", sees)
    for ahead in range(1, len(sees) - 1):
        if is_(j <= i + ahead):
            count = "one position" if ahead == 1 else f"{ahead} positions"
            return Reading("leaks", f"leaks {count} ahead: position i sees j <= i + {ahead}", sees)
    return Reading("other", _exception(sees) if rows.all() else _nan(rows), sees)


def _exception(sees: Array) -> str:
    """The first entry that is wrong, and the rule behind it where there is one."""
    i, j = np.indices(sees.shape)
    a, b = (int(n) for n in np.argwhere(sees != (j <= i))[0])
    if sees[a, b]:
        return f"position {a} sees position {b}, which lies ahead"
    for width in range(1, len(sees) - 1):
        if (sees == ((j <= i) & (j > i - width))).all():
            seen = "itself alone" if width == 1 else f"a window of {width}"
            return f"position {a} does not see position {b} (each sees {seen})"
    return f"position {a} does not see position {b}"


def _nan(rows: Array) -> str:
    """Which rows are not finite; a mask may leave a softmax without anything finite to work on."""
    lost = np.flatnonzero(~rows)
    if rows.any() and len(lost) > 1 and np.ptp(lost) == len(lost) - 1:
        which = f"rows {lost[0]} to {lost[-1]} are"
    else:
        which = f"rows {', '.join(map(str, lost))} are" if len(lost) > 1 else f"row {lost[0]} is"
    return f"{which if rows.any() else 'every row is'} NaN or infinite, on inputs of 1 and -1"
