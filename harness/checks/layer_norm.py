"""Layer norm: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import AFFINE, MEAN, UNLESS, VARIANCE
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moved
from harness.probe import Rng, normal, tokens
from harness.wire import Array

KATA = Kata(track=2, minutes=5, functions=("layer_norm",))
SMALL = np.array([[[1.0, 3.0, 1.0, 7.0], [2.0, -2.0, 2.0, 6.0]]])
GAIN, BIAS = np.array([1.0, 2.0, -1.0, 3.0]), np.array([0.0, 1.0, 5.0, -2.0])
PLAIN = np.ones(4), np.zeros(4)
Case = tuple[Any, ...]


def affine(rng: Rng, d: int) -> tuple[Array, Array]:
    """A gain and a bias that differ from each other, from feature to feature, and from 1 and 0."""
    return rng.uniform(0.5, 2, d) * rng.choice([-1, 1], d), normal(rng, d, mean=1)


def case(rng: Rng, *shape: int) -> Case:
    """Ordinary rows."""
    return normal(rng, *shape, deviation=2), *affine(rng, shape[-1])


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is a float array of the shape of x, whatever its rank"""
    cases = [case(rng, *shape) for shape in ((4,), (3, 4), (2, 3, 5), (2, 3, 4, 5))]
    for call, answer in submission.layer_norm.each(cases):
        expect.returned(call, answer, call.args[0])


@KATA.core
def rows_alone(submission: Submission, reference: Any, rng: Rng) -> None:
    """a row of the result depends on that row of x alone"""
    x, *both = args = case(rng, 2, 2, 5)
    cases: list[Case] = [args]
    for n in range(4):
        changed = x.copy()
        changed[divmod(n, 2)] = normal(rng, 5, deviation=2)
        cases.append((changed, *both))
    found = moved(submission.layer_norm, reference.layer_norm(*args), cases, over=(2,))
    found.should_be(np.eye(4, dtype=bool), "row", "row of x", "Rows 0 and 1 are the first sequence, 2 and 3 the next.")


@KATA.core
def plain(submission: Submission, reference: Any, rng: Rng) -> None:
    """with a gain of 1 and a bias of 0 every row comes out centred and scaled"""
    cases = [(SMALL, *PLAIN), (normal(rng, 2, 3, 4, mean=3, deviation=2), *PLAIN)]
    expect.agrees(submission.layer_norm, reference.layer_norm, cases, "gamma is 1 and beta 0 here.")


@KATA.core
def epsilon(submission: Submission, reference: Any, rng: Rng) -> None:
    """eps, 1e-5 unless another one is given, is added to the variance: it tells on rows of little spread"""
    x = normal(rng, 2, 3, 4, deviation=2)
    cases: list[Case] = [(0.003 * SMALL, *PLAIN), (SMALL, *PLAIN, 2.0), (x, *PLAIN, 0.1)]
    cases += [(1e-3 * x, *PLAIN, 1e-6), (np.full((1, 2, 4), 7.0), *PLAIN)]
    expect.agrees(submission.layer_norm, reference.layer_norm, cases, "gamma is 1 and beta 0 here.")


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """each feature has its own gain, and after it its own bias, at every rank, width, mean and spread"""
    cases: list[Case] = [(SMALL, GAIN, 0 * BIAS), (SMALL, GAIN, BIAS)]
    cases += [case(rng, *shape) for shape in ((1, 5, 2), (7,), (5, 5), (2, 2, 3, 4), (2, 70, 4), (1, 2, 130))]
    cases += [(tokens(rng, 2, 6, 8), *affine(rng, 8)), (50 + normal(rng, 2, 3, 4), *affine(rng, 4))]
    cases.append((np.arange(24).reshape(2, 3, 4) % 7, *affine(rng, 4)))
    expect.agrees(submission.layer_norm, reference.layer_norm, cases)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """x, gamma and beta are left as they were, and read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.layer_norm, reference.layer_norm, [case(rng, 2, 3, 4)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.layer_norm, reference.layer_norm, [case(rng, 2, 3, 4)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """a gamma or a beta that does not fit, or an x without axes, raises ValueError"""
    x, gamma, beta = case(rng, 2, 3, 4)
    cases = [(x, gamma[:3], beta), (x, gamma, beta[:1]), (x, gamma[None], beta)]
    expect.refuses(submission.layer_norm, [*cases, (np.array(2.0), gamma, beta)])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    x, gamma, beta = case(rng, 2, 3, 4)
    cases = [expect.strided((x, gamma, beta)), (np.repeat(x, 2, axis=2)[:, ::-1, ::2], gamma[::-1], beta)]
    expect.agrees(submission.layer_norm, reference.layer_norm, cases)


ROOT, CENTRED = "np.sqrt(variance + eps)", "(x - mean)"

families.layer_norm(KATA, "eps", affine=True, others=())
name, look = KATA.mistake, "what stands under the root"
says = "eps is ignored: another number is built in"
hint = "Call it with an eps of 2 on a row that you can normalise in your head: does the answer notice?"
forms = [(ROOT, ROOT.replace("eps", number)) for number in ("1e-5", "1e-6", "1e-8", "1e-12")]
name("eps_ignored", says, *forms, look="where eps is used", hint=hint)
says = "the default of eps is not 1e-5"
forms = [("eps: float = 1e-5", f"eps: float = {number}") for number in ("1e-6", "1e-12", "1e-8", "1e-3")]
name("another_default", says, *forms, look="the signature", kind="convention")
says = "there is no eps: a row whose entries are all alike gives 0 / 0"
name("no_eps", says, (ROOT, "np.sqrt(variance)"), look=look)
says = "eps is squared before it joins the variance"
name("eps_squared", says, (ROOT, ROOT.replace("eps", "eps**2")), look=look)
says = "the root is missing: the centred rows are divided by their variance, not by their deviation"
hint = "Double a row. Its result should stay; does yours?"
name("divided_by_variance", says, (ROOT, "(variance + eps)"), look=look, hint=hint)
says = "the rows are centred but not scaled"
name("not_scaled", says, (f" / {ROOT}", ""), look="the division by the deviation")
says = "the bias is added before the gain scales, so that it is scaled too"
form = (f"{CENTRED} / {ROOT}{AFFINE}", f"({CENTRED} / {ROOT} + beta) * gamma")
hint = "Let gamma be zero: what remains of the result is the bias alone. Is it, in yours?"
name("bias_before_gain", says, form, look="the order of gamma and beta", hint=hint)
says = "the norm runs over the second axis of x, whatever its rank, instead of the last one"
axes = [(line, line.replace("-1", "min(1, x.ndim - 1)")) for line in (MEAN, VARIANCE)]
name("axis_1", says, tuple(axes), look="the axis of mean and variance")
says = "x is overwritten by the norm: it belongs to the caller"
into = (CENTRED, "np.subtract(x, mean, out=x)")
floats = (MEAN, f"{MEAN}\n    x = x if x.dtype.kind == 'f' else x.astype(float)")
name("input_modified", says, into, (floats, into), look="-=, /= or out= on an array passed in")
says = "a float64 scalar or table makes float64 of float32 activations"
form = (ROOT, "np.sqrt(variance + np.float64(eps))")
name("float32_lost", says, form, look="where float64 comes in", level="follow-up")
families.memory_order(KATA, f"variance = {VARIANCE}")
says = "a gain or a bias that does not fit is not refused: one of length 1 broadcasts, and nobody notices"
unfit = "x.ndim == 0 or not gamma.shape == beta.shape == x.shape[-1:]"
families.guard(KATA, "gain_not_refused", says, unfit, "refuses")

KATA.hint(
    "A layer norm knows one token at a time. Write down what it does to one row of d numbers, and let the other axes "
    "ride along.",
    "A mean and a variance for each row: which axis do they run over, and what must their shape be, so that they meet "
    "x again?",
    "Take from each row its own mean, divide by the root of its own variance with eps added to it first. Both keep the "
    "last axis at length 1, so that they broadcast. Only then scale each feature by its gain, and add its bias.",
)
KATA.shape(mean="(B, T, 1)", variance="(B, T, 1)", x="(B, T, d)")
KATA.term(
    "which axis",
    "Over which axis does the norm run: the features of a token alone, or the tokens too?",
    "The last one alone: each token is normalised by itself.",
    (
        r"\b(axis|axes|dim(ension)?s?)\b",
        r"\bper (token|row|position|sequence|batch)|\b(each|every) (token|row|position)\b",
        r"\b(over|along|across) (the )?(tokens?|features?|batch|sequence|last|channels?)\b",
        r"\bbatch ?norm",
    ),
    (UNLESS + r"\b(over|along|across) (the )?(batch|tokens?|sequence|whole|first)\b|" + UNLESS + r"\bbatch ?norm",),
)
KATA.term(
    "where eps stands",
    "Does eps stand inside the root or beside it, and what is its default?",
    "Inside the root, added to the variance; 1e-5 by default.",
    (
        r"\b(inside|outside|under|beside|within)\b[^.]*\b(root|sqrt)\b",
        r"\bdefault\b",
        r"\b(add|added|adding)\b[^.]*\beps",
        r"\beps(ilon)?\b[^.]*\b(root|sqrt|std|deviation|stand|where)\b",
    ),
    (
        UNLESS + r"\beps\w*\b[^.;]*\b(outside|beside|to the (std|standard deviation|root))",
        r"\bdefault\b[^.;]*\b(1e-?(6|8|12|3)|0)\b",
    ),
    ("another_default",),
)
KATA.term(
    "rank of x",
    "Is x always (B, T, d), or may it have another rank?",
    "Any rank from 1: whatever the leading axes are, the last one holds the features.",
    (
        r"\brank\b|\b[1234]-?d\b",
        r"\bshape\b",
        r"\b(leading|other|more|fewer) (axes|dim)",
        r"\bb, ?t, ?d\b",
        r"\b(single|one) (row|vector|token)\b",
    ),
    (UNLESS + r"\b(always|only) (\(?b, ?t, ?d\)?|3-?d|rank 3|three)",),
)
KATA.term(
    "running statistics",
    "Are there running statistics, or a difference between training and evaluation?",
    "Neither: the statistics are those of the row at hand, always.",
    (
        r"\b(running|moving)\b",
        r"\b(training|evaluation|inference|eval|test) (time|mode)?",
        r"\bmomentum\b",
        r"\bstatistics\b",
    ),
    (UNLESS + r"\b(running|moving) (mean|average|var|stat)",),
)
KATA.question(
    "Why layer norm and not batch norm in a transformer?",
    "Batch norm shares its statistics between sequences: they depend on batch size and padding, differ in training and "
    "in generation, and with time as an axis they would leak the future. A layer norm needs one token alone: it "
    "works for a batch of one, for any length, and gives the same in training and in evaluation.",
)
KATA.question(
    "What does RMSNorm leave out, and why do newer models use it?",
    "The mean and usually the bias: it divides by the root of the mean square and scales by a gain. It saves one pass "
    "over the row and one vector, and trains as well. The centring turned out to matter little: it removes one "
    "direction of d. A layer norm of rows that have mean 0 already is the same as an RMSNorm.",
)
KATA.question(
    "What is eps for, and what goes wrong when it is too small or too large?",
    "It keeps the division finite when a row has no spread, and bounds the gradient there: that one grows as one over "
    "the deviation. In float16, 1e-8 rounds to 0, and the protection is gone. Too large, it shrinks rows of little "
    "spread, such as embeddings initialised at 0.02, whose variance of 4e-4 is not far above 1e-5.",
)
KATA.question(
    "Why are gamma and beta exempt from weight decay, and why start at 1 and 0?",
    "At 1 and 0 the norm is the plain one, so depth changes nothing at the start. Decay pulls towards 0: a gain would "
    "shut the branch behind it, and as the next matrix can make up for it, nothing is regularised. There are only 2 d "
    "of them, so they cannot overfit much. Biases and gains therefore usually form a group without decay.",
)
KATA.question(
    "To which changes of its input is a layer norm blind?",
    "Adding a constant to a row, and multiplying it by a positive number, as long as its variance stays far above eps. "
    "So the length of the residual stream does not reach the sublayers in pre-LN, only its direction. For tests this "
    "means: to see whether something depends on a row, replace the row; do not shift or scale it.",
)
