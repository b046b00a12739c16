"""Feed-forward: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import GELU, UNLESS
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moves
from harness.probe import Rng, normal, weights, whole
from harness.wire import Array

KATA = Kata(track=2, minutes=6, functions=("gelu", "feed_forward"))
Case = tuple[Any, ...]


def layers(rng: Rng, d: int, f: int) -> tuple[Array, Array, Array, Array]:
    """Weights under which the GELU bends, and biases large enough to be missed."""
    return weights(rng, d, f), normal(rng, f), weights(rng, f, d), normal(rng, d)


def case(rng: Rng, *shape: int, f: int) -> Case:
    """Ordinary arguments."""
    return normal(rng, *shape), *layers(rng, shape[-1], f)


def small_case() -> Case:
    """Whole numbers that a person can follow; d, f and the biases all differ."""
    w1 = np.array([[1.0, 0.0, -1.0], [2.0, 1.0, 0.0]])
    w2 = np.array([[1.0, 2.0], [-1.0, 0.0], [3.0, 1.0]])
    return np.array([[[1.0, -1.0], [0.0, 2.0]]]), w1, np.array([0.0, 1.0, 2.0]), w2, np.array([5.0, -3.0])


@KATA.core
def gelu_values(submission: Submission, reference: Any, rng: Rng) -> None:
    """gelu is the tanh form, entry by entry, for arrays of any shape"""
    points = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    cases = [(points,), (np.linspace(-6, 6, 97),), (normal(rng, 2, 3, 4, deviation=2),), (np.array([[-40.0, 40.0]]),)]
    expect.agrees(submission.gelu, reference.gelu, cases)


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is an array of the shape of x, whatever its rank, for f below, above and equal to d"""
    cases = [small_case(), case(rng, 4, f=6), case(rng, 3, 5, f=2), case(rng, 2, 3, 4, f=4), case(rng, 1, 1, 2, f=1)]
    for call, answer in submission.feed_forward.each(cases):
        expect.returned(call, answer, call.args[0])


@KATA.core
def token_by_token(submission: Submission, reference: Any, rng: Rng) -> None:
    """a token of the result depends on that token of x alone"""
    found = moves(submission.feed_forward, reference.feed_forward, case(rng, 2, 4, 3, f=5), 0, rng, over=(0, 2))
    found.should_be(np.eye(4, dtype=bool), "token", "token of x")


@KATA.core
def biases(submission: Submission, reference: Any, rng: Rng) -> None:
    """b1 comes before the activation and b2 at the very end: here x is zero, so only the biases are left"""
    x, w1, b1, w2, b2 = small_case()
    cases = [(0 * x, w1, b1, w2, b2), (0 * x, w1, b1, w2, 0 * b2), (0 * x, w1, 0 * b1, w2, b2)]
    expect.agrees(submission.feed_forward, reference.feed_forward, cases, "x is zero here.")


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """feed_forward is gelu(x @ w1 + b1) @ w2 + b2, at every rank, and for f below, above and equal to d"""
    cases = [small_case(), case(rng, 2, 3, 4, f=7), case(rng, 3, 2, 6, f=5), case(rng, 2, 3, 4, f=4)]
    cases += [case(rng, 5, f=9), case(rng, 3, 5, f=2), case(rng, 2, 2, 3, 4, f=6), case(rng, 1, 70, 3, f=4)]
    x, *rest = case(rng, 2, 3, 4, f=7)
    cases += [(3 * x, *rest), (case(rng, 5, 5, 5, f=5))]
    expect.agrees(submission.feed_forward, reference.feed_forward, cases)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """neither function modifies what is passed in, and read-only arrays do; five calls give the same answer"""
    expect.unchanged(submission.gelu, reference.gelu, [(normal(rng, 2, 3),)])
    expect.unchanged(submission.feed_forward, reference.feed_forward, [case(rng, 2, 3, 4, f=5)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.gelu, reference.gelu, [(normal(rng, 2, 3),)])
    expect.keeps_float32(submission.feed_forward, reference.feed_forward, [case(rng, 2, 3, 4, f=5)])


@KATA.follow_up
def large(submission: Submission, reference: Any, rng: Rng) -> None:
    """entries of 1e5 give no NaN and no warning"""
    expect.silent(submission.gelu, reference.gelu, [(np.array([-1e5, -1e3, 1e3, 1e5]),)])
    x, *rest = case(rng, 2, 3, 4, f=5)
    expect.silent(submission.feed_forward, reference.feed_forward, [(1e5 * x, *rest)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """weights and biases that do not fit raise ValueError, also those that NumPy would broadcast"""
    x, w1, b1, w2, b2 = case(rng, 2, 3, 4, f=5)
    cases = [(x, w1[:3], b1, w2, b2), (x, w1, b1[:1], w2, b2), (x, w1, b1, w2, b2[:1]), (x, w1, b1, w2[:4], b2)]
    expect.refuses(submission.feed_forward, [*cases, (x, w1, b1, w2[:, :1], b2), (x, w1, b1, w2, b2[None])])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    args = case(rng, 2, 3, 4, f=5)
    spaced = np.repeat(args[0], 2, axis=2)[:, ::-1, ::2]
    expect.agrees(submission.gelu, reference.gelu, [(spaced,), (whole(rng, 3, 4).T,)])
    expect.agrees(submission.feed_forward, reference.feed_forward, [expect.strided(args), (spaced, *args[1:])])


INNER, LAST = "inner = gelu(x @ w1 + b1)", "return inner @ w2 + b2"
FORM, ORDER = "the formula of gelu in the contract", "the two lines, and what each adds"
SIGMOID = "x / (1 + np.exp(np.clip(-{} * x, -700, 700)))"

name = KATA.mistake
says = "the GELU is the sigmoid approximation, x times sigmoid(1.702 x), instead of the tanh form"
name("sigmoid_gelu", says, (GELU, SIGMOID.format("1.702")), look=FORM, kind="convention")
families.gelu(KATA)
says = "the activation is SiLU (swish), x times sigmoid(x), instead of GELU"
name("silu", says, (GELU, SIGMOID.format("1.0")), look=FORM)
says = "the root of 2/pi is missing in gelu: 2/pi stands there itself"
hint = "What is 2/pi, and what its root? Near 0 the slope of the tanh decides how soon the activation bends."
name("root_missing", says, ("(2 / np.pi) ** 0.5", "(2 / np.pi)"), look=FORM, hint=hint)
says = "the half is missing in gelu: a large x comes back doubled"
hint = "Far to the right the activation should be x itself. What does yours give for 10?"
name("half_missing", says, ("0.5 * x * (1", "x * (1"), look=FORM, hint=hint)
says = "the 1 + is missing in gelu: what comes back is even, and large for a very negative x"
name("one_missing", says, (GELU, GELU.replace("(1 + np.tanh", "(np.tanh")), look=FORM)
says = "gelu squares x where it should cube it"
name("squared", says, ("x**3", "x**2"), look=FORM)
says = "the constant of gelu is not 0.044715"
forms = [("0.044715", number) for number in ("0.44715", "0.0044715", "0.04715", "0.0447")]
name("other_constant", says, *forms, look="each digit of 0.044715")
says = "the cubic term is missing in gelu: the tanh is of x alone"
name("cubic_term_missing", says, (" + 0.044715 * x**3", ""), look=FORM)

says = "there is no activation: two linear layers in a row are one linear layer"
hint = "Double x, with the biases at zero. A network that bends anywhere does not simply double; does yours?"
name("no_activation", says, (INNER, "inner = x @ w1 + b1"), look=ORDER, hint=hint)
says = "the activation follows the second layer as well: the last layer is linear"
hint = "Can your network give back a feature of -5, whatever the weights? A branch must be able to subtract."
name("activation_twice", says, (LAST, "return gelu(inner @ w2 + b2)"), look=ORDER, hint=hint)
says = "the activation follows the second layer instead of the first"
form = (INNER, "inner = x @ w1 + b1"), (LAST, "return gelu(inner @ w2 + b2)")
name("activation_last", says, form, look=ORDER)
says = "the first bias is added after the activation instead of before it"
hint = "Let x be zero: the inner features should then be the activation of the bias. Are they, in yours?"
name("bias_after_activation", says, (INNER, "inner = gelu(x @ w1) + b1"), look=ORDER, hint=hint)
says = "the first bias is missing: b1 joins before the activation"
name("b1_missing", says, (INNER, "inner = gelu(x @ w1)"), look=ORDER)
says = "the second bias is missing: b2 joins at the very end"
name("b2_missing", says, (LAST, "return inner @ w2"), look=ORDER)
says = "both biases are missing, b1 and b2"
name("biases_missing", says, ((INNER, "inner = gelu(x @ w1)"), (LAST, "return inner @ w2")), look=ORDER)
says = "x is added to the result: the residual belongs to the block, not to the network"
hint = "Let both weights and biases be zero: what should the network alone give?"
name("residual_added", says, (LAST, f"{LAST} + x"), look=ORDER, hint=hint, kind="convention")
says = "w1 and w2 are exchanged, each turned round so that the shapes fit"
form = (INNER, "inner = gelu(x @ w2.T + b1)"), (LAST, "return inner @ w1.T + b2")
name("weights_exchanged", says, form, look="which weight widens and which narrows")
says = "the weights are applied transposed, x @ w.T, as torch's Linear holds them: with f = d that runs"
form = (INNER, "inner = gelu(x @ w1.T + b1)"), (LAST, "return inner @ w2.T + b2")
name("weights_transposed", says, form, look="a .T on a weight; x @ w is (from, to)", kind="convention")
says = "x is overwritten by gelu: it belongs to the caller"
forms = [(f"return {GELU}", f"np.multiply(x, {GELU.replace('0.5 * x * ', '0.5 * ')}, out=x)\n    return x")]
name("input_modified", says, *forms, look="*=, += or out= on an array that was passed in")
says = "a float64 scalar, such as np.sqrt of an int, makes float64 of float32 activations"
name("float32_lost", says, ("(2 / np.pi) ** 0.5", "np.sqrt(2 / np.pi)"), look="the root of 2/pi", level="follow-up")
says = "weights and biases that do not fit are not refused: some of them broadcast"
families.guard(KATA, "misfit_not_refused", says, "shapes != ((d, f), (f,), (f, d), (d,))", "refuses")
families.memory_order(KATA, "d, f = x.shape[-1], w1.shape[-1]")

KATA.hint(
    "Write the activation first and try it on three numbers: it should be nearly 0 far to the left, nearly x far to "
    "the right, and 0 at 0.",
    "The network is three steps: to f features, through the activation, back to d features. Where does each of the "
    "biases join, and what follows the last one?",
    "Multiply each token's row by the first matrix from the right and add its bias; pass all of that through the "
    "activation, entry by entry; multiply by the second matrix and add the second bias. Matrix products take the "
    "leading axes along, so no loop and no reshape is needed.",
)
KATA.shape(x="(B, T, d)", inner="(B, T, f)", w1="(d, f)", w2="(f, d)")
KATA.term(
    "biases",
    "Do both layers have a bias?",
    "Both: b1 before the activation, b2 at the end.",
    (r"\bbias(es)?\b", r"\bb[12]\b", r"\bintercept"),
    (UNLESS + r"\bafter the (activation|gelu)", r"\b(no|without|skip|drop) (the |any )?bias"),
)
KATA.term(
    "layout of the weights",
    "Are the weights applied as x @ w, or stored transposed as in torch's Linear?",
    "As x @ w: the first axis of a weight meets the features of x.",
    (r"\bx ?@ ?w", r"\btranspos", r"\b(weight|matri).*\b(layout|shape|left|right|stored|multipl)", r"\blinear\b"),
    (UNLESS + r"(w\w?\.t\b|\bweights?\b[^.;]*\btransposed|\blike (torch|nn|linear)\b|\bw ?@ ?x\b)",),
    ("weights_transposed",),
)
KATA.term(
    "residual and norm",
    "Do the residual and the layer norm belong in here, or to the block?",
    "To the block: this is the bare network.",
    (r"\bresidual|\bskip\b", r"\b(layer )?norm\b", r"\badd(ed)? x\b|\bx \+", r"\bblock\b"),
    (UNLESS + r"\b(add|include|with|plus) (the |a )?(residual|skip|layer ?norm|norm|x\b)",),
    ("residual_added",),
)
KATA.term(
    "dropout",
    "Is there dropout between the layers?",
    "No: the forward pass of evaluation, which is deterministic.",
    (r"\bdropout\b", r"\b(training|evaluation|eval) mode\b|\bin training\b", r"\bdeterministic\b|\brandom"),
    (UNLESS + r"\b(add|apply|use|with|include) (a |some |the )?dropout",),
)
KATA.term(
    "rank of x",
    "Is x always (B, T, d), or may it have another rank?",
    "Any rank from 1: the last axis holds the features.",
    (r"\brank\b|\b[1234]-?d\b", r"\bshape\b", r"\b(leading|other|more|fewer) (axes|dim)", r"\bb, ?t, ?d\b"),
    (UNLESS + r"\b(always|only) (\(?b, ?t, ?d\)?|3-?d|rank 3|three)",),
)
KATA.question(
    "Why is f usually 4 d, and what share of a block's weights and work is that?",
    "Four is a convention that works. The network holds 2 d f = 8 d² weights against 4 d² in attention's projections: "
    "two thirds of the block. Its work is 2 T d f multiply-adds a sequence, which outweighs the T² part until T is "
    "about 2 d + f. SwiGLU has three matrices, so f is cut to 8/3 d to keep the count.",
)
KATA.question(
    "Why GELU instead of ReLU, and when does the tanh form matter?",
    "GELU is smooth, so units left of 0 keep a gradient, and it trains slightly better. The tanh form was cheaper than "
    "erf; they differ by up to 5e-4. That is nothing in training, but weights of a model trained with one should "
    "be run with the same: over many layers the difference shows, and tests at 1e-6 fail.",
)
KATA.question(
    "What would two layers without an activation be?",
    "One linear layer: (x W1 + b1) W2 + b2 = x (W1 W2) + (b1 W2 + b2), of rank at most min(d, f). Whatever is wider in "
    "the middle adds nothing. The bend is what lets the network switch features on and off; it can be read as a "
    "memory whose keys are the columns of W1 and whose values are the rows of W2.",
)
KATA.question(
    "Does the feed-forward mix tokens, and what follows for decoding?",
    "No. The same network is applied to each token by itself, like a convolution of width 1. So it needs no mask, "
    "leaks nothing, and in decoding runs for the new token alone, with nothing to cache: 2 d f multiply-adds a step. "
    "Only attention exchanges anything between tokens.",
)
