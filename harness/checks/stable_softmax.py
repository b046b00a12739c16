"""Stable softmax: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids, probe
from harness.kata import Kata
from harness.model import Call, Submission, Wrong
from harness.probe import Rng
from harness.wire import Array

KATA = Kata(track=1, minutes=5, functions=("stable_softmax",))
INF = np.inf
SMALL = np.array([[0.0, 1.0], [2.0, 4.0]])


def axis_of(call: Call) -> int:
    """The axis that a call asks for."""
    return int(call.args[1]) if len(call.args) > 1 else -1


def ones(sums: Array) -> Array:
    """Where sums are 1, within the tolerance."""
    return np.asarray(np.abs(sums - 1) <= 1e-9)


def sums_elsewhere(got: Array) -> str:
    """Along what the entries do sum to 1, when that is not the axis that was asked for."""
    with np.errstate(all="ignore"):
        along = [axis for axis in range(got.ndim) if ones(got.sum(axis)).all()]
        whole = bool(ones(got.sum()))
    return f"They sum to 1 along axis {along[0]}." if along else "The whole array sums to 1." if whole else ""


def drawn(rng: Rng) -> list[tuple[Any, ...]]:
    """Scores of ranks 1 to 4 along every kind of axis, also one of length 1, and a long slice that peaks at its end."""
    line, square, cube, four = (probe.normal(rng, *shape) for shape in ((4,), (3, 3), (2, 3, 5), (2, 3, 4, 5)))
    long = probe.normal(rng, 2, 70)
    long[0, -1] = 6.0
    cases = [(line,), (square, 0), (square, 1), (cube, 0), (cube, -2), (cube,), (four, 1), (four, 2), (four, -3)]
    return [*cases, (cube[:, :1].copy(), 1), (long,)]


@KATA.core
def shape_and_kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is a float array of the shape of the scores, for whole-number scores too"""
    cases = [(probe.whole(rng, 2, 3),), (probe.whole(rng, 2, 3, 4), 1), (np.arange(6).reshape(3, 2), 0)]
    for call, answer in submission.stable_softmax.each(cases):
        expect.returned(call, answer, reference.stable_softmax(*call.args))


@KATA.core
def all_digits(submission: Submission, reference: Any, rng: Rng) -> None:
    """float64 scores are worked on in float64"""
    [(call, answer)] = submission.stable_softmax.each([(probe.normal(rng, 4, 6),)])
    want = reference.stable_softmax(*call.args)
    got = expect.returned(call, answer, want)
    with np.errstate(all="ignore"):
        half = got.astype(np.float32)
    if (got == half).all() and np.allclose(got, want, rtol=1e-5, atol=0):
        text, where = expect.describe(call)
        says = f"{text} is right to about 7 digits, should be to 15: every entry is a float32 number"
        raise Wrong(says, *where, call=call, answer=answer, mistake="float32_inside")


@KATA.core
def sums_to_one(submission: Submission, reference: Any, rng: Rng) -> None:
    """the probabilities sum to 1 along the axis that was asked for"""
    cases = [(SMALL,), (SMALL, 0), (probe.whole(rng, 2, 3, 4), -2)]
    for call, answer in submission.stable_softmax.each(cases):
        want = reference.stable_softmax(*call.args)
        got, axis = expect.returned(call, answer, want), axis_of(call)
        with np.errstate(all="ignore"):
            sums = got.sum(axis)
        if not ones(sums).all():
            text, where = expect.describe(call)
            first = sums[~ones(sums)][0]
            value = f"{first:.10g}" if abs(first - 1) < 1e-5 else grids.number(first)
            shows = [grids.beside(grids.table(got), grids.table(want), ("got", "should be"))] if got.ndim == 2 else []
            shows += [words] if (words := sums_elsewhere(got)) else []
            says = f"{text} sums to {value} along axis {axis}, should sum to 1"
            raise Wrong(says, *shows, *where, call=call, answer=answer)


@KATA.core
def odds(submission: Submission, reference: Any, rng: Rng) -> None:
    """a score that is higher by 1 is e times as likely"""
    [(call, answer)] = submission.stable_softmax.each([(np.array([0.0, 1.0, 2.0]),)])
    got = expect.returned(call, answer, reference.stable_softmax(*call.args))
    with np.errstate(all="ignore"):
        ratios = got[1:] / got[:-1]
    if not (np.abs(ratios - np.e) <= 1e-5).all():
        text, where = expect.describe(call)
        says = f"{text}: a score higher by 1 is {grids.number(ratios[0])} times as likely, should be e = 2.71828 times"
        raise Wrong(says, grids.table(got)[0].strip(), *where, call=call, answer=answer)


@KATA.core
def shift(submission: Submission, reference: Any, rng: Rng) -> None:
    """adding one number to all the scores of a slice changes nothing"""
    scores = np.array([[0.0, 1.0, 3.0], [2.0, 2.0, -1.0]])
    by = [("100", 100.0), ("-50 and 80", np.array([[-50.0], [80.0]]))]
    (first, answer), *moved = submission.stable_softmax.each([(scores,), *((scores + c,) for _, c in by)])
    base = expect.returned(first, answer, scores)
    for (call, answer), (words, _) in zip(moved, by, strict=True):
        got = expect.returned(call, answer, scores)
        wrong = expect.differs(got, base)
        if wrong.any():
            i, j = (int(n) for n in np.argwhere(wrong)[0])
            change = f"from {grids.number(base[i, j])} to {grids.number(got[i, j])}"
            says = f"adding {words} to the scores changes stable_softmax(scores)[{i}, {j}] {change}"
            grid = grids.beside(grids.table(got, wrong), grids.table(base), ("after adding", "before"))
            raise Wrong(says, grid, *expect.describe(call)[1], call=call, answer=answer)


@KATA.core
def large(submission: Submission, reference: Any, rng: Rng) -> None:
    """scores of ±1e4 and ±1e5 stay finite without a warning, also when one slice spans them"""
    near = [(np.array([[0.0, 1.0]]) + c,) for c in (1e4, -1e4, 1e5, -1e5)]
    wide = [(np.array([[-1e4, 0.0, 0.0, 1.0]]),), (np.array([[1e4, 1e5, -1e5, 1e5]]),)]
    expect.silent(submission.stable_softmax, reference.stable_softmax, near + wide)


@KATA.core
def far_slices(submission: Submission, reference: Any, rng: Rng) -> None:
    """one slice may lie 1e4 or 1e5 away from another"""
    rows = np.array([[1e4], [-1e4], [1e5], [0.0]]) + np.array([0.0, 1.0])
    cube = probe.normal(rng, 2, 3, 4) + np.array([[[1e5]], [[-1e5]]])
    expect.silent(submission.stable_softmax, reference.stable_softmax, [(rows,), (rows.T.copy(), 0), (cube, 1)])


@KATA.core
def masked(submission: Submission, reference: Any, rng: Rng) -> None:
    """a score of -inf gets exactly 0, and the finite ones of its slice share the rest"""
    rows = np.array([[0.0, -INF, 1.0], [-INF, -1e5, -INF]])
    for call, answer in submission.stable_softmax.each([(np.array([0.0, -INF]),), (rows,), (rows.T.copy(), 0)]):
        expect.same(call, answer, reference.stable_softmax(*call.args), "A score of -inf is masked out: 0.")
        got, hidden = answer.value, np.isneginf(call.args[0])
        if got[hidden].any():
            text, where = expect.describe(call)
            says = f"{text} is {grids.number(got[hidden].max())} where the score is -inf, should be exactly 0"
            raise Wrong(says, *where, call=call, answer=answer)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """every entry is right, along any axis and for any rank"""
    whole = (np.array([[1, 3], [2, 2]]), -1)
    expect.agrees(submission.stable_softmax, reference.stable_softmax, [whole, *drawn(rng)])


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """the scores are not modified, and may be read-only"""
    cases = [(SMALL,), (np.array([[0.0, -INF, 1.0], [3.0, 2.0, 7.0]]),), (SMALL, 0), (SMALL[1].copy(),)]
    cases += [(probe.normal(rng, 2, 3, 4), 1), (np.array([[1, 3], [2, 5]]),)]
    expect.unchanged(submission.stable_softmax, reference.stable_softmax, cases)


@KATA.core
def repeatable(submission: Submission, reference: Any, rng: Rng) -> None:
    """the same call gives the same answer, also the fifth time"""
    expect.repeats(submission.stable_softmax, reference.stable_softmax, (probe.normal(rng, 3, 5), 0))


@KATA.follow_up
def all_masked(submission: Submission, reference: Any, rng: Rng) -> None:
    """a slice that is all -inf gives zeros, without NaN and without a warning"""
    rows = np.array([[-INF, -INF], [0.0, 1.0]])
    cases = [(rows,), (rows.T.copy(), 0), (np.full(3, -INF),)]
    expect.silent(submission.stable_softmax, reference.stable_softmax, cases)


@KATA.follow_up
def nan_stays(submission: Submission, reference: Any, rng: Rng) -> None:
    """a NaN stays inside its own slice: it neither spreads nor vanishes"""
    rows = np.array([[0.0, np.nan], [0.0, 1.0], [2.0, 2.0]])
    cases = [(rows,), (np.roll(rows, 1, axis=0).T.copy(), 0)]
    for call, answer in submission.stable_softmax.each(cases):
        scores, axis = call.args[0], axis_of(call)
        got = expect.returned(call, answer, scores)
        own = np.isnan(scores).any(axis, keepdims=True) & np.ones(scores.shape, bool)
        text, where = expect.describe(call)
        if not np.isnan(got[own]).any():
            raise Wrong(f"{text} hides the NaN of its scores", *where, call=call, answer=answer)
        expect.same(call, answer, np.where(own, got, reference.stable_softmax(*call.args)))


@KATA.follow_up
def empty_axis(submission: Submission, reference: Any, rng: Rng) -> None:
    """an empty axis raises ValueError"""
    expect.refuses(submission.stable_softmax, [(np.zeros((2, 0)),), (np.zeros((0, 3)), 0)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.stable_softmax, reference.stable_softmax, [(SMALL,), (probe.normal(rng, 3, 4), 0)])


PEAK = "scores.max(axis=axis, keepdims=True)"
GUARD = "peak = np.where(peak == -np.inf, 0, peak)"
WEIGHTS = "weights = np.exp(scores - peak)"
TOTAL = "weights.sum(axis=axis, keepdims=True)"
RESULT = "weights / np.where(total == 0, 1, total)"
PLAIN = (RESULT, "weights / total")
HALF = (WEIGHTS, "weights = np.exp((scores - peak).astype(np.float32))")
AXES = (("over_axis_0", 0, "axis 0"), ("over_the_last_axis", -1, "the last axis"), ("over_axis_1", 1, "axis 1"))

KATA.mistake(
    "no_max_subtracted",
    "no maximum is subtracted: exp overflows above 709, and inf / inf is NaN",
    (GUARD, "peak = 0"),
    ((GUARD, "peak = 0"), PLAIN),
    look="what exp is applied to",
)
for name, words in (("min", "minimum"), ("mean", "mean")):
    other = f"scores.{name}(axis=axis, keepdims=True)"
    KATA.mistake(
        f"{name}_subtracted",
        f"the {words} is subtracted instead of the maximum: the largest scores of a wide slice still overflow",
        (PEAK, other),
        ((PEAK, other), (GUARD, "pass"), PLAIN),
        look="what is subtracted: the largest exponent should be 0",
    )
KATA.mistake(
    "global_max",
    "the maximum is that of the whole array instead of each slice: slices far below it underflow to 0 / 0",
    (PEAK, "scores.max()"),
    ((PEAK, "scores.max()"), PLAIN),
    look="the axis of the maximum",
)
KATA.mistake(
    "max_over_another_axis",
    "the maximum is taken along another axis than the sum, so the scores of one slice are shifted by unequal amounts",
    (PEAK, "scores.max(axis=0, keepdims=True)"),
    (PEAK, "scores.max(axis=-1, keepdims=True)"),
    look="the axis of the maximum and the axis of the sum",
)
KATA.mistake(
    "divided_by_max",
    "the scores are divided by their maximum instead of having it subtracted, which changes every ratio",
    (WEIGHTS, "weights = np.exp(scores / peak)"),
    look="the operator between the scores and their maximum",
)
KATA.mistake(
    "clipped_scores",
    "the scores are clipped to a range instead of shifted: all scores beyond it come out as equals",
    *((WEIGHTS, f"weights = np.exp(np.clip(scores, -{bound}, {bound}))") for bound in (700, 500, 50)),
    (WEIGHTS, "weights = np.exp(np.minimum(scores, 700))"),
    look="how overflow is kept away: shift, do not clip",
)
KATA.mistake(
    "fill_not_low_enough",
    "-inf is replaced by a finite number that is not low enough: beside scores below it, what is masked out wins",
    ("peak = scores", "scores = np.where(scores == -np.inf, -1e4, scores)\n    peak = scores"),
    look="whether -inf needs replacing at all: exp(-inf) is 0",
)
KATA.mistake(
    "over_the_whole_array",
    "the sum runs over the whole array, so only all the entries together sum to 1",
    (TOTAL, "weights.sum()"),
    ((PEAK, "scores.max()"), (TOTAL, "weights.sum()")),
    look="the axis of the sum",
)
for name, axis, words in AXES:
    total = (TOTAL, f"weights.sum(axis={axis}, keepdims=True)")
    KATA.mistake(
        name,
        f"it normalises over {words}, whatever `axis` says",
        total,
        ((PEAK, f"scores.max(axis={axis}, keepdims=True)"), total),
        ((PEAK, "scores.max()"), total),
        look="whether `axis` is used, in the maximum and in the sum",
    )
KATA.mistake(
    "axis_not_moved_back",
    "the axis was moved to the end to be normalised and never moved back",
    (RESULT, "np.moveaxis(weights / np.where(total == 0, 1, total), axis, -1)"),
    look="the axes of what is returned",
)
KATA.mistake(
    "keepdims_forgotten",
    "keepdims is forgotten: the reduced array lines up with the wrong axis on square scores, and raises on others",
    ((PEAK, "scores.max(axis=axis)"), (TOTAL, "weights.sum(axis=axis)")),
    (PEAK, "scores.max(axis=axis)"),
    (TOTAL, "weights.sum(axis=axis)"),
    look="the shapes of the maximum and of the sum",
)
KATA.mistake(
    "log_softmax",
    "log-softmax is returned: logarithms of the probabilities instead of the probabilities",
    (RESULT, "scores - peak - np.log(total)"),
    (RESULT, "np.log(weights / np.where(total == 0, 1, total))"),
    look="the last step",
)
KATA.mistake(
    "not_normalised",
    "the exponentials are returned as they are, never divided by their sum",
    (RESULT, "weights"),
    look="the last step",
)
KATA.mistake(
    "subtracted_in_place",
    "the scores are modified in place (by -=, out= or an assignment into them), though they belong to the caller",
    (WEIGHTS, "scores -= peak\n    weights = np.exp(scores)"),
    (
        (WEIGHTS, "weights = scores\n    weights -= peak\n    np.exp(weights, out=weights)"),
        (RESULT, "np.divide(weights, np.where(total == 0, 1, total), out=weights)"),
    ),
    look="every -=, /= and out=: do they write into what was passed in?",
)
KATA.mistake(
    "epsilon_in_denominator",
    "an epsilon is added to the denominator, so nothing sums to 1; after the shift it is never needed",
    *((TOTAL, f"{TOTAL} + {epsilon}") for epsilon in ("1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3")),
    look="the denominator: it is at least 1 once the maximum is subtracted",
)
KATA.mistake(
    "one_more_in_denominator",
    "an extra 1 (or exp of minus the maximum) is added to the denominator, so slices sum to less than 1",
    (TOTAL, f"{TOTAL} + 1"),
    (TOTAL, f"{TOTAL} + np.exp(-peak)"),
    look="the denominator: it is the sum of the numerators, and nothing else",
)
KATA.mistake(
    "base_two",
    "powers of two instead of powers of e: still probabilities, but at another temperature",
    (WEIGHTS, "weights = np.exp2(scores - peak)"),
    look="the base of the exponential",
)
KATA.mistake(
    "float32_inside",
    "float64 scores are worked on in float32: half of the digits are gone",
    HALF,
    (HALF, (RESULT, "(weights / np.where(total == 0, 1, total)).astype(float)")),
    look="every dtype that is named, and astype",
)
KATA.mistake(
    "float64_creeps_in",
    "float32 scores come back as float64",
    (WEIGHTS, "weights = np.exp((scores - peak).astype(float))"),
    look="every dtype that is named, and every float64 scalar",
    level="follow-up",
)
