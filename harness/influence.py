"""Who sees whom: which outputs move when one input position is replaced, and what that says of a mask.

Two maps. The open map perturbs one input row at a time and records which output rows move. The closed map reads the
attention matrix itself, with the other paths of a layer closed, and so tells the diagonal, which residuals hide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness.model import Function, Wrong
from harness.wire import Array

Direction = Literal["causal", "reversed", "no mask", "diagonal blocked", "inverted", "leaks", "other"]


@dataclass(frozen=True)
class Reading:
    """What a map says of a causal mask, in one word and in words."""

    direction: Direction
    words: str


def open_map(ask: Function, args: tuple[Any, ...], vary: int, rng: np.random.Generator, out_axis: int = 1) -> Array:
    """[i, j] is True where output position i moves when position j (axis 1) of argument `vary` is replaced.

    Rows are replaced by random vectors: a layer norm is blind to a shift and to a scaling of a row.
    """
    x = args[vary]
    cases = [args]
    for j in range(x.shape[1]):
        changed = x.copy()
        changed[:, j] = rng.standard_normal(x[:, j].shape) * (1 + np.abs(x[:, j]))
        cases.append((*args[:vary], changed, *args[vary + 1 :]))
    values = []
    for call, answer in ask.each(cases):
        if answer.raised is not None:
            raise Wrong(f"{call.function} {answer.raised}", call=call, answer=answer)
        if not isinstance(answer.value, np.ndarray) or answer.value.ndim <= out_axis:
            raise Wrong(f"{call.function} gives no array with a position axis {out_axis}", call=call, answer=answer)
        values.append(np.moveaxis(answer.value, out_axis, 0).reshape(answer.value.shape[out_axis], -1))
    if len({value.shape for value in values}) > 1:
        raise Wrong(f"the shape of {ask.name}'s result depends on the values that are passed in")
    base, *moved = values
    return np.stack([_moved(base, value) for value in moved], axis=1)


def _moved(base: Array, value: Array) -> Array:
    with np.errstate(all="ignore"):
        still = np.abs(value - base) <= 1e-9 * np.nanmax(np.abs(base), initial=1e-300, axis=None)
    return np.asarray(~(still | (np.isnan(value) & np.isnan(base))).all(axis=1))


def closed_map(out: Array, x: Array) -> Reading:
    """The direction of a mask from `out` (T, d), one row of the batch, computed with the other paths closed.

    The layer must have had zero queries and identity values, so that every visible key weighs 1/n, and rows of `x`
    (T, d) of mean 0 and variance 1 with T < d. Then out = M x, where M is the attention matrix plus what the residual
    adds to the diagonal. How M's diagonal compares with the other entries of its row tells whether a position sees
    itself, with or without residual, whatever the norm's scale: see `_diagonal`.
    """
    if out.shape != x.shape or not np.isfinite(x).all():
        return Reading("other", "")
    rows = np.isfinite(out).all(axis=1)
    mixing = np.where(rows[:, None], out, 0.0) @ np.linalg.pinv(x)
    exact = np.abs(mixing @ x - np.where(rows[:, None], out, 0.0)).max() <= 1e-6 * max(1.0, np.abs(out[rows]).max(initial=0))
    if not exact:
        return Reading("other", "")
    T = len(x)
    sees = np.abs(mixing) > 0.01
    itself = _diagonal(mixing, sees, rows)
    np.fill_diagonal(sees, itself if itself is not None else np.diag(sees))
    if itself is None and not (sees.sum() == T * T):
        return Reading("other", "")
    return reading(sees, rows)


def _diagonal(mixing: Array, sees: Array, rows: Array) -> bool | None:
    """Whether positions see themselves, read off each row's m = M[i, i] and c, the entry of its n other visible keys.

    With the diagonal visible m/c is n + 2 (residual, any scale), 1 (no residual) or T + 1 (masked after the softmax,
    c = 1/T); with it blocked n, 0 or T. One of the six must hold in every row; None when none does.
    """
    T = len(mixing)
    others = sees & ~np.eye(T, dtype=bool)
    facts = []
    for i in np.flatnonzero(others.any(axis=1) & rows):
        entries = mixing[i][others[i]]
        if np.ptp(entries) > 1e-6:
            return None
        facts.append((mixing[i, i] / entries.mean(), int(others[i].sum())))
    hypotheses: list[tuple[bool, Callable[[int], int]]] = [
        (True, lambda n: n + 2),
        (True, lambda n: 1),
        (True, lambda n: T + 1),
        (False, lambda n: n),
        (False, lambda n: 0),
        (False, lambda n: T),
    ]
    for skip in (slice(None), slice(1, None), slice(None, -1)):  # a row with nothing to see may hold anything
        fitting = {s for s, want in hypotheses if facts[skip] and all(abs(r - want(n)) < 1e-4 for r, n in facts[skip])}
        if len(fitting) == 1:
            return fitting.pop()
    return None


def reading(sees: Array, rows: Array | None = None) -> Reading:
    """What a (T, T) map, T >= 3, says of a causal mask. Rows that are not finite are left out: False in `rows`."""
    T = len(sees)
    rows = np.ones(T, bool) if rows is None else rows
    i, j = np.indices((T, T))

    def is_(map_: Array, without: int | None = None) -> bool:
        kept = rows.copy()
        if without is not None:
            kept[without] = False
        return bool(kept.any() and (sees[kept] == map_[kept]).all())

    if is_(j <= i):
        return Reading("causal", "position i sees the positions j <= i, as it should")
    if is_(j >= i):
        return Reading("reversed", "reversed: position i sees only j >= i")
    if is_(j >= 0):
        return Reading("no mask", "no mask: every position sees every other, the future too")
    if is_(j < i, without=0):
        return Reading("diagonal blocked", "the diagonal is blocked: position i sees only j < i, not itself")
    if is_(j > i, without=-1):
        return Reading("inverted", "inverted: position i sees only j > i, the future without itself")
    for ahead in range(1, T - 1):
        if is_(j <= i + ahead):
            count = "one position" if ahead == 1 else f"{ahead} positions"
            return Reading("leaks", f"leaks {count} ahead: position i sees j <= i + {ahead}")
    return Reading("other", _exception(sees, rows))


def _exception(sees: Array, rows: Array) -> str:
    i, j = np.indices(sees.shape)
    wrong = (sees != (j <= i)) & rows[:, None]
    a, b = (int(n) for n in np.argwhere(wrong)[0])
    return f"position {a} sees position {b}, which lies ahead" if sees[a, b] else f"position {a} does not see position {b}"
