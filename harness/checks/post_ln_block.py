"""Post-LN block: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import causal, expect, families
from harness.families import ERF, GELU, UNLESS
from harness.influence import closed_layers
from harness.kata import Kata
from harness.model import Submission
from harness.probe import Rng, normal, tokens, weights, whole
from harness.wire import Array

KATA = Kata(track=2, minutes=15, functions=("post_ln_block",))
SQUARE, NORMS = ("wq", "wk", "wv", "wo"), ("g1", "b1", "g2", "b2")
NAMES = (*SQUARE, "w1", "c1", "w2", "c2", *NORMS)
Params = dict[str, Array]
Case = tuple[Array, Params, int]


def layer(rng: Rng, d: int, f: int) -> Params:
    """Weights under which the softmax is not saturated; gains and biases unlike each other, 1 and 0."""
    params = {name: weights(rng, d, d) for name in SQUARE} | {"w1": weights(rng, d, f), "w2": weights(rng, f, d)}
    params |= {"c1": normal(rng, f, deviation=0.5), "c2": normal(rng, d)}
    gains = {name: rng.uniform(0.5, 2, d) * rng.choice([-1, 1], d) for name in ("g1", "g2")}
    return params | gains | {name: normal(rng, d) for name in ("b1", "b2")}


def case(rng: Rng, B: int, T: int, d: int, f: int, heads: int) -> Case:
    """Arguments with ordinary rows."""
    return normal(rng, B, T, d), layer(rng, d, f), heads


def small() -> Case:
    """Whole numbers that a person can follow."""
    rng, shapes = np.random.default_rng(190), [(4, 4)] * 4 + [(4, 3), (3,), (3, 4), (4,)]
    params = {name: whole(rng, *shape, top=1) for name, shape in zip(NAMES, shapes, strict=False)}
    params |= {"g1": np.array([1.0, 2.0, 1.0, 3.0]), "b1": np.array([0.0, 1.0, 0.0, -1.0])}
    params |= {"g2": np.array([2.0, 1.0, -1.0, 1.0]), "b2": np.array([1.0, 0.0, 5.0, 0.0])}
    return np.array([[[1.0, 3.0, 0.0, 4.0], [2.0, -2.0, 5.0, 1.0]]]), params, 2


def plain(params: Params) -> Params:
    """The same weights with norms that have no gain and no bias, and a feed-forward without biases."""
    d, f = params["w1"].shape
    return params | {n: np.full(d, float(n[0] == "g")) for n in NORMS} | {"c1": np.zeros(f), "c2": np.zeros(d)}


def closed() -> list[tuple[Any, ...]]:
    """Calls from whose answers the attention can be read."""
    return [(x, plain(params), heads) for x, params, heads in closed_layers()]


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask hides the future, not the past"""
    args = case(rng, 2, 3, 8, 12, 2)
    causal.not_reversed(submission.post_ln_block, reference.post_ln_block, closed(), args)


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is an array like x, also for one token, for one sequence, and for f below and above d"""
    sizes = [(2, 3, 8, 5, 2), (1, 3, 8, 12, 4), (2, 1, 6, 7, 3), (1, 1, 4, 4, 2)]
    for call, answer in submission.post_ln_block.each([case(rng, *size) for size in sizes]):
        expect.returned(call, answer, call.args[0])


@KATA.core
def weights_used(submission: Submission, reference: Any, rng: Rng) -> None:
    """changing any one of the twelve parameters changes the result"""
    x, params, heads = case(rng, 2, 3, 8, 12, 2)
    other = layer(rng, 8, 12)
    others = {name: (x, params | {name: other[name]}, heads) for name in NAMES}
    causal.all_used(submission.post_ln_block, reference.post_ln_block, (x, params, heads), others)


@KATA.core
def prefix_invariance(submission: Submission, reference: Any, rng: Rng) -> None:
    """what follows a prefix does not change the result for that prefix, wherever it is cut"""
    causal.prefix_stays(submission.post_ln_block, reference.post_ln_block, case(rng, 2, 5, 8, 12, 2))


@KATA.core
def influence(submission: Submission, reference: Any, rng: Rng) -> None:
    """row i of the result depends on the rows 0 to i of x, itself included, and on no later one"""
    args = case(rng, 2, 5, 8, 12, 2)
    causal.sees_no_later(submission.post_ln_block, reference.post_ln_block, closed(), args, rng)


@KATA.core
def norms(submission: Submission, reference: Any, rng: Rng) -> None:
    """with both branches shut the result is x, normalised twice, each time with a gain and a bias of its own"""
    x, params, heads = small()
    shut = params | {name: 0 * params[name] for name in ("wo", "w2", "c2")}
    hint = "wo, w2 and c2 are zero here, so both branches add nothing: this is LN(LN(x))."
    twice, first = plain(shut), shut | {"g2": np.ones(4), "b2": np.zeros(4)}
    cases = [(x, first, heads), (x, shut, heads), (x, twice, heads), (0.001 * x, shut, heads)]
    cases.append((10 + 0.2 * normal(rng, 2, 3, 4), shut, heads))
    expect.agrees(submission.post_ln_block, reference.post_ln_block, cases, hint)


@KATA.core
def feed_forward(submission: Submission, reference: Any, rng: Rng) -> None:
    """with wo at zero attention adds nothing: what is left is the ReLU network, its biases included"""
    x, params, heads = small()
    shut = params | {"wo": np.zeros((4, 4))}
    hint = "wo is zero here, so attention adds nothing."
    cases = [(x, shut | {"c1": np.zeros(3), "c2": np.zeros(4)}, heads), (x, shut, heads)]
    expect.agrees(submission.post_ln_block, reference.post_ln_block, cases, hint)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is LN(x + attention(x)), and of that the norm of its sum with the feed-forward"""
    sizes = [(2, 3, 8, 5, 2), (1, 4, 12, 7, 3), (3, 1, 6, 9, 2), (2, 5, 8, 8, 4)]
    sizes += [(2, 3, 6, 5, 1), (2, 3, 6, 5, 6), (1, 1, 4, 4, 2), (1, 130, 4, 6, 2)]
    flat = (0.001 * normal(rng, 2, 4, 8), layer(rng, 8, 12), 2)
    mixed = (tokens(rng, 2, 6, 8), layer(rng, 8, 12), 2)
    cases = [small(), *(case(rng, *size) for size in sizes), flat, mixed]
    expect.agrees(submission.post_ln_block, reference.post_ln_block, cases)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """x and params are left as they were, and read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.post_ln_block, reference.post_ln_block, [case(rng, 2, 3, 8, 5, 2)])


@KATA.follow_up
def refuses_misfits(submission: Submission, reference: Any, rng: Rng) -> None:
    """heads that do not divide d, a wrong rank, no token, or parameters that do not fit raise ValueError"""
    x, params, heads = case(rng, 2, 3, 8, 5, 2)
    cases = [(x, params, 3), (x, params, 16), *((wrong, params, heads) for wrong in (x[0], x[None], x[:, :0]))]
    wrong = {"wq": (8, 4), "wo": (8, 1), "w1": (6, 5), "w2": (5, 1), "c1": (1,), "g1": (1,), "b2": (1, 8)}
    cases += [(x, params | {name: normal(rng, *shape)}, heads) for name, shape in wrong.items()]
    expect.refuses(submission.post_ln_block, cases)


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.post_ln_block, reference.post_ln_block, [case(rng, 2, 3, 8, 5, 2)])


@KATA.follow_up
def large_activations(submission: Submission, reference: Any, rng: Rng) -> None:
    """activations and scores of 1e3 and more stay finite"""
    x, params, heads = case(rng, 2, 4, 8, 5, 2)
    expect.agrees(submission.post_ln_block, reference.post_ln_block, [(1e3 * x, params, heads)])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    args = case(rng, 2, 3, 8, 5, 2)
    spaced = np.repeat(args[0], 2, axis=2)[:, ::-1, ::2]
    expect.agrees(submission.post_ln_block, reference.post_ln_block, [expect.strided(args), (spaced, *args[1:])])


ONE, TWO = 'params["g1"], params["b1"])', 'params["g2"], params["b2"])'
ATTEND, FEED = "attention(x, params, heads)", "feed_forward(x, params)"
FIRST, SECOND = f"x = layer_norm(x + {ATTEND}, {ONE}", f"x = layer_norm(x + {FEED}, {TWO}"
WIDE, NARROW = 'np.maximum(x @ params["w1"] + params["c1"], 0)', 'hidden @ params["w2"] + params["c2"]'
MIDDLE = "the two lines of the block: what is added, and what is normalised"

families.causal(KATA)
families.attention(KATA, feed_forward=True)
families.heads(KATA)
families.layer_norm(KATA, "1e-6", affine=True)
name = KATA.mistake
says = "the norm comes before each branch (pre-LN) instead of after each residual sum (post-LN)"
form = (
    (FIRST, f"x = x + attention(layer_norm(x, {ONE}, params, heads)"),
    (SECOND, f"x = x + feed_forward(layer_norm(x, {TWO}, params)"),
)
name("pre_ln", says, form, look=MIDDLE, kind="convention")
says = "a branch is normalised before it is added, so the residual sum never is"
form = ((FIRST, f"x = x + layer_norm({ATTEND}, {ONE}"), (SECOND, f"x = x + layer_norm({FEED}, {TWO}"))
hint = "Which of these is to have unit variance when it leaves the block: the branch, or the sum?"
name("norm_on_branch", says, form, *form, look=MIDDLE, hint=hint)
bare = ((FIRST, f"x = x + {ATTEND}"), (SECOND, f"x = x + {FEED}"))
name("first_norm_missing", "the norm after the attention is missing", bare[0], look=MIDDLE)
name("second_norm_missing", "the norm after the feed-forward is missing", bare[1], look=MIDDLE)
name("no_layer_norm", "there is no layer norm at all", bare, look=MIDDLE)
hint = "Let the branch give nothing but zeros: what should then be normalised?"
alone = tuple((line, line.replace("x + ", "")) for line in (FIRST, SECOND))
name("residual_missing_attention", "the residual around attention is missing", alone[0], look=MIDDLE, hint=hint)
name("residual_missing_ffn", "the residual around the feed-forward is missing", alone[1], look=MIDDLE, hint=hint)
name("residual_missing_both", "each of the two residuals is missing", alone, look=MIDDLE, hint=hint)
apart = (FIRST, FIRST.replace("x =", "y ="))
says = "the feed-forward reads the input of the block, not the result of attention"
hint = "Draw the block as a chain of two steps: what has the second step to work with?"
name("ffn_reads_input", says, (apart, (SECOND, f"x = layer_norm(y + {FEED}, {TWO}")), look=MIDDLE, hint=hint)
says = "the second residual adds the input of the block, not the result of the first norm"
name("residual_from_input", says, (apart, (SECOND, SECOND.replace("feed_forward(x", "feed_forward(y"))), look=MIDDLE)
name("attention_lost", "what attention gives is lost: only the feed-forward is added to x", apart, look=MIDDLE)
exchanged = ((FIRST, FIRST.replace(ONE, TWO)), (SECOND, SECOND.replace(TWO, ONE)))
look = "which gain and bias goes where"
says = "the gains and biases of the two norms are exchanged: g2, b2 after the attention and g1, b1 at the end"
name("norms_exchanged", says, exchanged, look=look)
says = "both norms use g1 and b1: the second has a gain and a bias of its own"
name("first_norm_twice", says, exchanged[1], look=look)
look = "the two lines of the feed-forward"
name("relu_missing", "there is no ReLU: the feed-forward is linear", (WIDE, WIDE[11:-4]), look=look)
says = "the first bias is added after the ReLU, not before it"
hint = "A hidden feature whose sum is just below zero: may its bias still switch it on?"
late = (WIDE, 'np.maximum(x @ params["w1"], 0) + params["c1"]')
name("bias_after_relu", says, late, look=look, hint=hint)
says = "a second ReLU follows at the end, so that the feed-forward can only add"
name("relu_at_the_end", says, (f"return {NARROW}", f"return np.maximum({NARROW}, 0)"), look=look)
name("c1_missing", "the bias c1 of the feed-forward is missing", (WIDE, 'np.maximum(x @ params["w1"], 0)'), look=look)
name("c2_missing", "the bias c2 of the feed-forward is missing", (NARROW, 'hidden @ params["w2"]'), look=look)
both = ((WIDE, 'np.maximum(x @ params["w1"], 0)'), (NARROW, 'hidden @ params["w2"]'))
name("ffn_biases_missing", "both biases of the feed-forward are missing", both, look=look)
says = "the activation is a GELU instead of ReLU"
wide = f"hidden = {WIDE}"
forms = [(wide, f"h = {WIDE[11:-4]}\n    hidden = {line.replace('x', 'h')}") for line in (GELU, ERF)]
name("gelu", says, *forms, look="the activation of the feed-forward", kind="convention")
says = "the first residual is added in place, which overwrites the caller's x"
in_place = (FIRST, f"x += {ATTEND}\n    x = layer_norm(x, {ONE}")
name("input_modified", says, in_place, look="+= on an array that was passed in")
says = "weights, gains and biases of another shape are not refused: some broadcast"
families.guard(KATA, "weights_not_refused", says, "params[name].shape != shape", "refuses_misfits")
families.memory_order(KATA, "check_shapes(x, params, heads)")
families.no_max(KATA)

KATA.hint(
    "Write the two lines of the block first. In each there is a branch, a sum and a norm: in which order?",
    "Attention alone mixes tokens; the norms and the feed-forward work row by row. Each branch gets x as it is, its "
    "result is added to that x, and the sum is normalised, with a gain and a bias for each of the two places.",
    "Project x three times, split into heads, compare every query with every key, scale by the root of the head's "
    "width, block the later keys, softmax along the keys, mix the values, merge, project. Add x, normalise with the "
    "first gain and bias. Widen, add a bias, cut off below zero, narrow, add a bias, add to what went in, normalise "
    "again.",
)
KATA.shape(mean="(B, T, 1)", variance="(B, T, 1)", q="(B, H, T, dh)", k="(B, H, T, dh)", v="(B, H, T, dh)")
KATA.shape(scores="(B, H, T, T)", future="(T, T)", weights="(B, H, T, T)", context="(B, H, T, dh)")
KATA.shape(hidden="(B, T, f)", x="(B, T, d)")
KATA.term(
    "where the norm goes",
    "Does the norm come before each sublayer (pre-LN) or after the residual sum (post-LN)?",
    "After: each residual sum is normalised, and the branches get x as it is.",
    (
        r"\bpre-?\W?(ln|norm)",
        r"\bpost-?\W?(ln|norm)",
        r"\bnorm.*\b(before|after|first|last|where)\b|\b(final|last|one|two) (layer.?)?(norm|ln)|\bwhere\b.*\bnorm",
        r"\bresidual|\bskip\b",
    ),
    (UNLESS + r"(\bpre-?\W?(ln|norm)|\bnorm\w*\b[^.;]*\bbefore (the|each|every) (sub|branch|attention))",),
    ("pre_ln",),
)
KATA.term(
    "activation",
    "Is the activation of the feed-forward ReLU, or GELU?",
    "ReLU, as in 2017.",
    (r"\brelu\b", r"\bgelu\b", r"\bactivation\b|\bnon-?linear\w*", r"\bsilu\b|\bswi(sh|glu)\b"),
    (UNLESS + r"\b(gelu|silu|swish|swiglu|tanh|erf)\b",),
    ("gelu",),
)
KATA.term(
    "biases",
    "Do the projections or the feed-forward have biases?",
    "The feed-forward has two, c1 and c2. The four projections of the attention have none.",
    (
        r"\bbiases\b",
        r"\b(projections?|feed-?forward|ffn|linear|dense)\b.*\bbias|\bbias\w*\b.*\b(proj|linear|feed|ffn|dense)",
        r"\bintercept|\bc[12]\b",
    ),
    (r"\bno bias(es)? (in|for) the (feed-?forward|ffn)\b|" + UNLESS + r"\bprojections have (a )?bias",),
)
KATA.term(
    "who sees whom",
    "Is the attention causal, may a position see itself, and is a mask passed in?",
    "Causal: position i sees 0 to i, itself included. You build the mask; nothing is passed in.",
    (
        r"\bcausal\b|\bbidirectional",
        r"\bmask|\btrue\b",
        r"\b(future|later|ahead|past)\b",
        r"\b(sees?|attends?|itself)\b",
    ),
    (UNLESS + r"\b(bidirectional|unmasked|mask (is|gets) (passed|given))", r"\b(not|isn't|no) (a )?(causal|mask)"),
)
KATA.term(
    "dropout and padding",
    "Must I handle dropout or padding, or is it the forward pass in evaluation alone?",
    "The forward pass in evaluation: no dropout, no padding, no cache.",
    (r"\bdropout\b", r"\bpad(s|ded|ding)?\b", r"\bevaluation\b|\btraining\b", r"\bcach|\bbackward|\bgradient"),
    (UNLESS + r"\b(apply|use|add|with|include|support|handle) (a |the )?(padding|dropout|cache|backward)",),
)
KATA.question(
    "Why does a post-LN stack need warm-up?",
    "At the start the expected gradient of the last layers is large, and every norm on the way down scales it once "
    "more, so layers see very different steps. Adam's second moments are poor estimates in the first steps, which "
    "makes these steps larger still, and the norms can saturate. A small rate that grows over some thousand steps "
    "lets both settle. In pre-LN the identity path keeps gradients even.",
)
KATA.question(
    "A model of such blocks ends in one more norm before the head. Why is it redundant here, and needed after pre-LN?",
    "The last step of a post-LN block is a norm, so every row has left it with a known mean and variance, up to its "
    "gain and bias. Another norm changes little, and a gain could be folded into the head. A pre-LN stream is a bare "
    "sum that grows with depth: without a final norm, the scale of the logits would depend on the layers below.",
)
KATA.question(
    "What else has changed since 2017, and why?",
    "The norm moved before the branch, for training deep stacks; RMSNorm replaced it, for less work; the ReLU became "
    "a GELU and then a gated SwiGLU; rotary positions replaced sinusoids, to reach further; the biases went, since "
    "they bring little; heads share keys and values, for a small cache. The residual, the scale and the softmax "
    "stayed.",
)
KATA.question(
    "Why is the feed-forward wider than the model, and what does the ReLU do there?",
    "Each hidden unit is a detector with a weight row, a threshold c1 and a vector of w2 that it writes when it "
    "fires, like a memory of keys and values. More units than features store more such pairs. Without the ReLU the "
    "two matrices were one of rank d. A unit that is negative on all data gets no gradient and stays dead, which a "
    "GELU softens.",
)
