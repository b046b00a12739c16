"""Whether two arrays hold the same intermediate, whatever their layout, and by what they differ when they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, permutations
from operator import mul

import numpy as np

from harness import expect
from harness.wire import Array

BLOCKED = -1e4  # below it lies what a mask has filled in: -inf, -1e9 or the least float


def same(got: Array, want: Array) -> bool:
    """Whether the values agree up to the order of the axes and to merged ones: (B, T, d) is (B, H, T, dh).

    Two axes of one length keep their order if they are the last, since the transpose of (T, T) is something else.
    Scores are compared where they are not blocked, and a mask may also say what it keeps.
    """
    got, want = np.squeeze(got), np.squeeze(want)
    if got.size != want.size or max(got.ndim, want.ndim) > 5:
        return False
    forwards = ((got, turned) for turned in _turned(want, got.shape))
    backwards = ((turned, want) for turned in _turned(got, want.shape))
    return any(_equal(*pair) for pairs in (forwards, backwards) for pair in pairs)


def arranged(got: Array, want: Array) -> Array:
    """What is the same up to its layout, in the shape of the other."""
    fits = (turned.reshape(want.shape) for turned in _turned(np.squeeze(got), np.squeeze(want).shape))
    return next((turned for turned in fits if _equal(turned, want)), want)


def _turned(array: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """The array with its axes in each order in which neighbours merge into `shape`."""
    ends, last = set(accumulate(shape, mul)), array.ndim - 1
    square = array.ndim > 1 and array.shape[-1] == array.shape[-2]
    for order in permutations(range(array.ndim)):
        if square and order.index(last) < order.index(last - 1):
            continue
        turned = array.transpose(order)
        if ends <= set(accumulate(turned.shape, mul)):
            yield turned.reshape(shape)


def _equal(got: Array, want: Array) -> bool:
    if want.dtype == bool:
        values = np.unique(got)
        return len(values) == 2 and any(bool(((got == value) == want).all()) for value in values)
    if got.dtype == bool:
        return False
    hidden, blocked = got < BLOCKED, want < BLOCKED
    if blocked.any() and (hidden != blocked).any():
        return False
    if 2 * np.count_nonzero(hidden) > hidden.size:
        return False
    return near(got[~hidden], want[~hidden])


def near(got: Array, want: Array) -> bool:
    """Whether arrays of one shape agree, in the precision of the coarser one."""
    coarse = want.dtype.kind == got.dtype.kind == "f" and got.dtype.itemsize < want.dtype.itemsize
    return not expect.differs(got, want.astype(got.dtype) if coarse else want).any()


def how(got: Array, want: Array, sizes: Mapping[str, int]) -> str:
    """By what an array differs from the one that it should be, measured; '' when nothing simple tells."""
    got, want = np.squeeze(got), np.squeeze(want)
    if got.size != want.size:
        return ""
    if got.shape == want.shape:
        for measure in (_nan, _mask, _sums, _turned_round):
            if words := measure(got, want):
                return words
        if words := _ratio(got, want, sizes):
            return words
    if got.dtype == want.dtype and near(np.sort(got, axis=None), np.sort(want, axis=None)):
        return "they are the right numbers in another order"
    return ""


def _nan(got: Array, want: Array) -> str:
    if got.dtype.kind != "f" or np.isnan(want).any() or not np.isnan(got).any():
        return ""
    return "every entry is NaN" if np.isnan(got).all() else "some entries are NaN"


def _mask(got: Array, want: Array) -> str:
    """Where a mask, or what it has blocked, is wrong."""
    if want.dtype == bool and got.dtype == bool:
        shut, right = got, want
    elif want.dtype.kind == got.dtype.kind == "f" and (want < BLOCKED).any():
        shut, right = got < BLOCKED, want < BLOCKED
    else:
        return ""
    if (shut == right).all():
        return ""
    square = right.ndim > 1 and right.shape[-1] == right.shape[-2]
    if not shut.any():
        return "nothing is blocked"
    if square and (shut == right.swapaxes(-1, -2)).all():
        return "the mask hides the past instead of the future"
    if (shut != right).all():
        return "the mask is the opposite: what it should hide is all that it leaves"
    if square and (shut == (right | np.eye(right.shape[-1], dtype=bool))).all():
        return "the diagonal is blocked as well"
    more, less = int((shut & ~right).sum()), int((right & ~shut).sum())
    told = [f"{less} of {right.sum()} entries that should be blocked are open"] if less else []
    return " and ".join([*told, *([f"{more} of {(~right).sum()} that should be open are blocked"] if more else [])])


def _sums(got: Array, want: Array) -> str:
    """Weights whose rows do not sum to 1."""
    floats = want.dtype.kind == got.dtype.kind == "f" and want.ndim > 1
    if not floats or not (want >= 0).all() or not _ones(want.sum(axis=-1)) or _ones(got.sum(axis=-1)):
        return ""
    if _ones(got.sum(axis=-2)):
        return "the softmax runs over the queries: columns sum to 1, rows do not"
    return "the rows do not sum to 1"


def _ones(sums: Array) -> bool:
    return bool((abs(sums - 1) < 1e-4).all())


def _turned_round(got: Array, want: Array) -> str:
    turned = want.ndim > 1 and want.shape[-1] == want.shape[-2] and near(got, want.swapaxes(-1, -2))
    return "they are the transpose" if turned else ""


def _ratio(got: Array, want: Array, sizes: Mapping[str, int]) -> str:
    """One factor for all entries, with the size that it comes from."""
    factor = scale(got, want)
    if factor is None:
        return ""
    roots = {f"sqrt({letter})": size**0.5 for letter, size in sizes.items() if size > 1}
    known = {**roots, **{letter: float(size) for letter, size in sizes.items() if size > 1}}
    words = [word for word, size in known.items() if min(abs(factor / size - 1), abs(factor * size - 1)) < 1e-6]
    named = f", where {words[0]} is {known[words[0]]:.4g}" if words else ""
    return f"they are {factor:.4g} times what they should be{named}"


def scale(got: Array, want: Array) -> float | None:
    """The one factor, other than 1, between two arrays where neither is blocked; None when there is none."""
    if got.shape != want.shape or not want.dtype.kind == got.dtype.kind == "f":
        return None
    free = (got > BLOCKED) & (want > BLOCKED) & (want != 0)
    if 2 * np.count_nonzero(free) < want.size:
        return None
    ratios = got[free] / want[free]
    factor = float(np.median(ratios))
    return factor if (abs(ratios - factor) < 1e-6 * abs(factor)).all() else None
