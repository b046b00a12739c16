"""Stable softmax: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids, probe, wording
from harness.families import UNLESS
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
    line -= line.max()  # a peak of exactly 0 is a number like any other
    cases = [(line,), (square, 0), (square, 1), (cube, 0), (cube, -2), (cube,), (four, 1), (four, 2), (four, -3)]
    return [*cases, (four,), (cube[:, :1].copy(), 1), (long,)]


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
        says = " is right to about 7 digits, should be to 15: every entry is a float32 number"
        raise expect.wrong(call, answer, says, mistake="float32_inside")


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
            first = sums[~ones(sums)][0]
            value = f"{first:.10g}" if abs(first - 1) < 1e-5 else grids.number(first)
            shows = [grids.beside(grids.table(got), grids.table(want), ("got", "should be"))] if got.ndim == 2 else []
            shows += [words] if (words := sums_elsewhere(got)) else []
            raise expect.wrong(call, answer, f" sums to {value} along axis {axis}, should sum to 1", *shows)


@KATA.core
def odds(submission: Submission, reference: Any, rng: Rng) -> None:
    """a score that is higher by 1 is e times as likely"""
    [(call, answer)] = submission.stable_softmax.each([(np.array([0.0, 1.0, 2.0]),)])
    got = expect.returned(call, answer, reference.stable_softmax(*call.args))
    with np.errstate(all="ignore"):
        ratios = got[1:] / got[:-1]
    if not (np.abs(ratios - np.e) <= 1e-5).all():
        says = f": a score higher by 1 is {grids.number(ratios[0])} times as likely, should be e = 2.71828 times"
        raise expect.wrong(call, answer, says, grids.table(got)[0].strip())


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
            raise Wrong(says, grid, *wording.describe(call)[1], call=call, answer=answer)


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
            says = f" is {grids.number(got[hidden].max())} where the score is -inf, should be exactly 0"
            raise expect.wrong(call, answer, says)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """every entry is right, along any axis and for any rank"""
    whole = (np.array([[1, 3], [2, 2]]), -1)
    expect.agrees(submission.stable_softmax, reference.stable_softmax, [whole, *drawn(rng)])


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """the scores are not modified, and may be read-only; five calls give the same answer"""
    cases = [(SMALL,), (np.array([[0.0, -INF, 1.0], [3.0, 2.0, 7.0]]),), (SMALL, 0), (SMALL[1].copy(),)]
    cases += [(probe.normal(rng, 2, 3, 4), 1), (np.array([[1, 3], [2, 5]]),)]
    expect.unchanged(submission.stable_softmax, reference.stable_softmax, cases)


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
        if not np.isnan(got[own]).any():
            raise expect.wrong(call, answer, " hides the NaN of its scores")
        expect.same(call, answer, np.where(own, got, reference.stable_softmax(*call.args)))


@KATA.follow_up
def empty_axis(submission: Submission, reference: Any, rng: Rng) -> None:
    """an empty axis raises ValueError"""
    expect.refuses(submission.stable_softmax, [(np.zeros((2, 0)),), (np.zeros((0, 3)), 0)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.stable_softmax, reference.stable_softmax, [(SMALL,), (probe.normal(rng, 3, 4), 0)])


LOOSE, PEAK = "scores.max(axis=axis)", "scores.max(axis=axis, keepdims=True)"
GUARD = "peak = np.where(peak == -np.inf, 0, peak)"
WEIGHTS = "weights = np.exp(scores - peak)"
TOTAL = "weights.sum(axis=axis, keepdims=True)"
RESULT = "weights / np.where(total == 0, 1, total)"
PLAIN = (RESULT, "weights / total")
WHOLE = (PEAK, "scores.max()")
HALF = (WEIGHTS, "weights = np.exp((scores - peak).astype(np.float32))")
AXES = (("over_axis_0", 0, "axis 0"), ("over_the_last_axis", -1, "the last axis"), ("over_axis_1", 1, "axis 1"))
IN_PLACE = (
    (WEIGHTS, "weights = scores\n    weights -= peak\n    np.exp(weights, out=weights)"),
    (RESULT, "np.divide(weights, np.where(total == 0, 1, total), out=weights)"),
)

name = KATA.mistake
says = "no maximum is subtracted: exp overflows above 709, and inf / inf is NaN"
think = "What is e to the power of 1000 in float64, and what is that divided by itself?"
form = (GUARD, "peak = 0")
name("no_max_subtracted", says, form, (form, PLAIN), look="what exp is applied to", hint=think)
for which, words in (("min", "minimum"), ("mean", "mean")):
    other, look = f"scores.{which}(axis=axis, keepdims=True)", "what is subtracted: the largest exponent should be 0"
    says = f"the {words} is subtracted instead of the maximum: the largest scores of a wide slice still overflow"
    name(f"{which}_subtracted", says, (PEAK, other), ((PEAK, other), (GUARD, "pass"), PLAIN), look=look)
says = "the maximum is that of the whole array instead of each slice: slices far below it underflow to 0 / 0"
think = "Take one slice near 0 and one near 10000: what is left of the first once 10000 is subtracted?"
name("global_max", says, WHOLE, (WHOLE, PLAIN), look="the axis of the maximum", hint=think)
says = "the maximum is taken along another axis than the sum, so the scores of one slice are shifted by unequal amounts"
forms = [(PEAK, f"scores.max(axis={axis}, keepdims=True)") for axis in (0, -1)]
think = "A shift cancels only if all the scores of one slice get the same: do they?"
name("max_over_another_axis", says, *forms, look="the axis of the maximum and the axis of the sum", hint=think)
says = "the scores are divided by their maximum instead of having it subtracted, which changes every ratio"
form, look = (WEIGHTS, "weights = np.exp(scores / peak)"), "the operator between the scores and their maximum"
think = "Which change of all exponents multiplies every exponential by the same number?"
name("divided_by_max", says, form, look=look, hint=think)
says = "the scores are clipped to a range instead of shifted: all scores beyond it come out as equals"
forms = [(WEIGHTS, f"weights = np.exp(np.clip(scores, -{bound}, {bound}))") for bound in (700, 500, 50)]
forms += [(WEIGHTS, "weights = np.exp(np.minimum(scores, 700))")]
name("clipped_scores", says, *forms, look="how overflow is kept away: shift, do not clip")
says = "-inf is replaced by a finite number that is not low enough: beside scores below it, what is masked out wins"
form = ("peak = scores", "scores = np.where(scores == -np.inf, -1e4, scores)\n    peak = scores")
name("fill_not_low_enough", says, form, look="whether -inf needs replacing at all: exp(-inf) is 0")
says, form = "the sum runs over the whole array, so only all the entries together sum to 1", (TOTAL, "weights.sum()")
think = "How many numbers must there be to divide by, for scores of shape (2, 3) along the last axis?"
name("over_the_whole_array", says, form, (WHOLE, form), look="the axis of the sum", hint=think)
for which, axis, words in AXES:
    peak, total = ((old, old.replace("=axis", f"={axis}")) for old in (PEAK, TOTAL))
    says, look = f"it normalises over {words}, whatever `axis` says", "whether the maximum and the sum use `axis`"
    think = "Sum your result along each axis: where is it 1, and where should it be?"
    name(which, says, total, (peak, total), (WHOLE, total), look=look, hint=think)
says = "the axis was moved to the end to be normalised and never moved back"
name("axis_not_moved_back", says, (RESULT, f"np.moveaxis({RESULT}, axis, -1)"), look="the axes of what is returned")
says = "keepdims is forgotten: the reduced array lines up with the wrong axis on square scores, and raises on others"
forms = [(PEAK, LOOSE), (TOTAL, "weights.sum(axis=axis)")]
think = "Broadcasting lines shapes up from the right: where does (3,) go against (3, 3), and where should it?"
name("keepdims_forgotten", says, tuple(forms), *forms, look="the shapes of the maximum and of the sum", hint=think)
says = "log-softmax is returned: logarithms of the probabilities instead of the probabilities"
forms = [(RESULT, "scores - peak - np.log(total)"), (RESULT, f"np.log({RESULT})")]
name("log_softmax", says, *forms, look="the last step", hint="Can a probability be negative?")
says = "the exponentials are returned as they are, never divided by their sum"
name("not_normalised", says, (RESULT, "weights"), look="the last step", hint="What should each slice add up to?")
says = "the scores are modified in place (by -=, out= or an assignment into them), though they belong to the caller"
form = (WEIGHTS, "scores -= peak\n    weights = np.exp(scores)")
look = "every -=, /= and out=: do they write into what was passed in?"
think = "Print the scores before and after the call: whose array were they?"
name("subtracted_in_place", says, form, IN_PLACE, look=look, hint=think)
says = "an epsilon is added to the denominator, so nothing sums to 1; after the shift it is never needed"
forms = [(TOTAL, f"{TOTAL} + {epsilon}") for epsilon in ("1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3")]
name("epsilon_in_denominator", says, *forms, look="the denominator: it is at least 1 once the maximum is subtracted")
says = "an extra 1 (or exp of minus the maximum) is added to the denominator, so slices sum to less than 1"
forms = [(TOTAL, f"{TOTAL} + {more}") for more in ("1", "np.exp(-peak)")]
name("one_more_in_denominator", says, *forms, look="the denominator: it is the sum of the numerators, and nothing else")
says = "powers of two instead of powers of e: still probabilities, but at another temperature"
name("base_two", says, (WEIGHTS, "weights = np.exp2(scores - peak)"), look="the base of the exponential")
says = "float64 scores are worked on in float32: half of the digits are gone"
both = (HALF, (RESULT, f"({RESULT}).astype(float)"))
name("float32_inside", says, HALF, both, look="every dtype that is named, and astype")
says, form = "float32 scores come back as float64", (WEIGHTS, "weights = np.exp((scores - peak).astype(float))")
name("float64_creeps_in", says, form, look="every dtype that is named, and every float64 scalar", level="follow-up")

KATA.hint(
    "Try the plain formula by hand on the scores 1000 and 1001. Where does it break, and what should the answer be?",
    "Only differences between the scores of a slice count: adding one number to all of them changes nothing. Which "
    "number makes the largest exponential harmless?",
    "Along the axis: take the largest score of each slice, keeping the axis so that shapes line up, subtract it, take "
    "the exponentials, divide by their sum along the same axis. What does a slice of -inf alone do then?",
)
KATA.shape(scores="(B, H, T, S)", peak="(B, H, T, 1)", weights="(B, H, T, S)", total="(B, H, T, 1)")

KATA.term(
    "a slice that is all -inf",
    "What should a slice give in which everything is masked out?",
    "Core: -inf beside finite scores gets exactly 0. As a follow-up, a slice of -inf alone gives zeros, without NaN.",
    (r"\binf(inity)?\b", r"\b(mask|block)ed\b", r"\b(fully|whole|every|all)\w*\b.*(masked|blocked|inf)", r"\bpadd"),
    (rf"(?=.*\b(all|fully|wholly|whole)\b){UNLESS}\b(uniform|equal|nan|raises?)\b", r"\balways finite\b"),
)
KATA.term(
    "empty axis and NaN",
    "What about an empty axis, or a NaN among the scores?",
    "Both are follow-ups. An empty axis raises ValueError; a NaN stays inside its own slice.",
    (r"\bempty\b", r"\bnans?\b", r"\b(size|length) (0|zero)\b", r"\b(raise|error|exception|valid|guard)\w*"),
    (r"\b(replace|treat|turn|ignore)\b.*\bnans?\b", r"\bempty\b.*\b(gives?|returns?) (an )?empty\b"),
)
KATA.term(
    "in place or not",
    "May I work in place, to save memory?",
    "No. The scores belong to the caller, and may even be read-only.",
    (r"\bin[- ]?place\b", r"\b(modif|mutat|overwrit)\w*", r"\bcop(y|ies)\b", r"\bread-?only\b", r"\bsave memory\b"),
    (rf"{UNLESS}\b(modif|overwrit)\w*\b.*\b(scores|inputs?)\b", rf"{UNLESS}\bin[- ]place"),
)
KATA.term(
    "which dtype",
    "Are the scores float64, and should the result keep their dtype?",
    "float64, worked on in float64; whole numbers give floats. As a follow-up, float32 in gives float32 out.",
    (r"\bd-?types?\b", r"\b(float|int)(eger)?s?\d*\b", r"\bwhole numbers?\b", r"\bprecision\b"),
    (rf"{UNLESS}\b(cast|convert|compute|work)\b.*\bfloat(16|32)\b", r"\balways (return )?float64\b"),
)
KATA.term(
    "which axis",
    "Along which axis should it sum to 1, and may axis be negative?",
    "Along the axis that is passed, whichever it is; -1 by default. The scores may have any rank from 1.",
    (r"\b(axis|axes|dim\w*)\b", r"\b(keys|queries|columns?)\b", r"\b(rank|ndim|[1-4]-?d)\b", r"\bsums? to\b"),
    (r"\b(only|always|just)\b.*\b(last axis|2-?d|rows|matri)", r"\bignore\b.*\baxis\b"),
)

KATA.fact("size", "Can the scores be large?", "Yes, up to 1e5 either way.", (r"\b(large|huge|big|overflow\w*)\b",))
KATA.question(
    "Why subtract the maximum, and why does the result not change?",
    "exp overflows above 709 in float64, above 88 in float32, and inf / inf is NaN. Subtracting c from every score of "
    "a slice multiplies numerator and denominator alike by exp(-c), which cancels. With the maximum as c the largest "
    "exponent is 0: nothing overflows, and the denominator is at least 1. Small terms may become 0: harmless.",
)
KATA.question(
    "Why compute log-softmax directly, rather than the log of a softmax?",
    "A score 746 below the maximum has a probability that underflows to 0 in float64; its log is -inf, and a loss and "
    "a gradient are lost. As score - max - log(sum(exp(scores - max))) it is exact however far it lies below. The sum "
    "is at least 1, so its log is safe. Close to probability 1 it keeps digits that rounding loses.",
)
KATA.question(
    "What is the gradient of log-softmax, and what follows for cross-entropy?",
    "The derivative of log p_i by score j is delta_ij - p_j: 1 for its own score, less the probability of score j. "
    "Cross-entropy is -log p of the target, so its gradient by the scores is p minus the one-hot target: between -1 "
    "and 1, summing to 0, and found without a Jacobian. Raising every score alike changes nothing, as it should.",
)
KATA.question(
    "What should a wholly blocked row give, and what do libraries give?",
    "Zeros: nothing may be seen, so nothing is fetched, and the residual passes x on. Plain code gives NaN, since "
    "-inf minus -inf is NaN; so does torch.softmax. A finite fill such as -1e9 gives equal weights, which quietly "
    "reads what is blocked. Recent scaled_dot_product_attention in PyTorch gives zeros. Masking NaN out of the loss "
    "is not enough: 0 times NaN is NaN in the gradient.",
)
