"""Whether two arrays hold the same intermediate, whatever their layout, and by what they differ when they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, combinations, permutations
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


def blocked(array: Array) -> bool:
    """Whether a mask has filled in some entries."""
    return array.dtype.kind == "f" and bool((array < BLOCKED).any())


def near(got: Array, want: Array) -> bool:
    """Whether arrays of one shape agree, in the precision of the coarser one."""
    coarse = want.dtype.kind == got.dtype.kind == "f" and got.dtype.itemsize < want.dtype.itemsize
    return not expect.differs(got, want.astype(got.dtype) if coarse else want).any()


def how(got: Array, want: Array, sizes: Mapping[str, int]) -> str:
    """By what an array differs from the one that it should be, measured; '' when nothing simple tells."""
    if got.size != want.size:
        return f"the shape is {got.shape}, should be {want.shape}"
    if got.dtype.kind != want.dtype.kind:
        return f"the dtype is {got.dtype}, should be {want.dtype}"
    got, want = np.squeeze(got), np.squeeze(want)
    if got.shape == want.shape:
        for measure in (_nan, _mask, _sums, _turned_round):
            if words := measure(got, want):
                return words
        if words := _ratio(got, want, sizes) or _norm(got, want) or _little(got, want):
            return words
    if got.dtype == want.dtype and near(np.sort(got, axis=None), np.sort(want, axis=None)):
        return "the right numbers in another order"
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
    """Whether all sums are 1; what is blocked throughout may sum to 0."""
    return bool(((abs(sums - 1) < 1e-4) | (sums == 0)).all() and (sums != 0).any())


def looks_like(got: Array, want: Array) -> bool:
    """Whether an array has the shape and the marks of a mask, of masked scores, or of weights, as the other has."""
    if got.shape != want.shape or got.dtype.kind != want.dtype.kind:
        return False
    if want.dtype == bool:
        return True
    if want.dtype.kind != "f" or want.ndim < 2:
        return False
    if (want < BLOCKED).any():
        return bool((got < BLOCKED).any())
    positive = bool((want >= 0).all() and (got >= 0).all() and _ones(want.sum(axis=-1)))
    return positive and (_ones(got.sum(axis=-1)) or _ones(got.sum(axis=-2)))


def _turned_round(got: Array, want: Array) -> str:
    turned = want.ndim > 1 and want.shape[-1] == want.shape[-2] and near(got, want.swapaxes(-1, -2))
    return "the transpose of what it should be" if turned else ""


def _ratio(got: Array, want: Array, sizes: Mapping[str, int]) -> str:
    """One factor for all entries, with the size that it comes from."""
    factor = scale(got, want)
    if factor is None:
        return ""
    known: dict[str, float] = {}
    for letter in (letter for letter in ("dh", "d", "H") if sizes.get(letter, 1) > 1):
        root, size = sizes[letter] ** 0.5, sizes[letter]
        known |= {f"sqrt({letter})": root, f"1/sqrt({letter})": 1 / root, letter: size, f"1/{letter}": 1 / size}
    words = next((f", which is {word}" for word, size in known.items() if abs(factor / size - 1) < 1e-6), "")
    return f"by a factor of {factor:.4g}{words}"


def scale(got: Array, want: Array) -> float | None:
    """The one factor, other than 1, between two arrays where neither is blocked; None when there is none."""
    if got.shape != want.shape or not want.dtype.kind == got.dtype.kind == "f":
        return None
    free = (got > BLOCKED) & (want > BLOCKED) & (want != 0)
    if 2 * np.count_nonzero(free) < want.size:
        return None
    ratios = got[free] / want[free]
    factor = float(np.median(ratios))
    constant = bool((abs(ratios - factor) < 1e-6 * abs(factor)).all())
    return factor if constant and abs(factor - 1) > 1e-3 else None


def _norm(got: Array, want: Array) -> str:
    """Rows that should have mean 0 and variance 1 and do not, or have them and should not."""
    if got.ndim < 2 or not got.dtype.kind == want.dtype.kind == "f" or got.shape[-1] < 3:
        return ""
    centred, right = (abs(a.mean(axis=-1)) < 1e-9 * (1 + abs(a).max()) for a in (got, want))
    variance, should = got.var(axis=-1), want.var(axis=-1)
    if right.all() and not centred.all():
        return "its rows do not have mean 0"
    if right.all() and max(np.ptp(variance), np.ptp(should)) < 1e-3 and abs(variance.mean() - should.mean()) > 1e-2:
        return f"the variance of its rows is {variance.mean():.3g}, should be {should.mean():.3g}"
    if not right.all() and centred.all() and (abs(variance - 1) < 1e-2).all():
        return "its rows have mean 0 and variance 1, as after a layer norm"
    return ""


def _little(got: Array, want: Array) -> str:
    if not got.dtype.kind == want.dtype.kind == "f":
        return ""
    most, size = abs(got - want).max(), abs(want).max()
    return f"by {most:.1g} at most, where entries go up to {size:.2g}" if most < 1e-2 * size else ""


def follows(weights: Array, scores: Array) -> bool:
    """Whether weights are the softmax of these very scores, wherever they are not 0."""
    if weights.shape != scores.shape or weights.dtype.kind != "f" or not (weights >= 0).all():
        return False
    seen = (weights > 0) & (scores > BLOCKED)
    apart = np.where(seen, np.log(np.where(seen, weights, 1)) - scores, np.nan)
    rows = apart[seen.sum(axis=-1) > 1]
    return len(rows) > 0 and bool((np.nanmax(rows, axis=-1) - np.nanmin(rows, axis=-1) < 1e-6).all())


def added(got: Array, terms: Mapping[str, Array]) -> str:
    """Which two known values sum to an array, in words; '' when none do."""
    fits = [(name, array) for name, array in terms.items() if array.shape == got.shape and array.dtype.kind == "f"]
    for (name, one), (other, two) in combinations(fits, 2):
        if near(got, one + two):
            return f"that is the sum of {name} and {other}"
    return ""
