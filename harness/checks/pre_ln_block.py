"""Pre-LN block: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import causal, expect, families
from harness.families import UNLESS
from harness.influence import closed_layers, passing
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.probe import Rng, normal, tokens, weights, whole
from harness.wire import Array

KATA = Kata(track=1, minutes=20, functions=("pre_ln_block",))
NAMES = ("wq", "wk", "wv", "wo", "w1", "w2")
SEED = 190
SMALL = np.array([[[1.0, 3.0, 0.0, 4.0], [2.0, -2.0, 5.0, 1.0]]])
Params = dict[str, Array]


def layer(rng: Rng, d: int, f: int) -> Params:
    """Weights under which neither the softmax nor the GELU is saturated."""
    return {name: weights(rng, d, d) for name in NAMES[:4]} | {"w1": weights(rng, d, f), "w2": weights(rng, f, d)}


def case(rng: Rng, B: int, T: int, d: int, f: int, heads: int) -> tuple[Array, Params, int]:
    """Arguments with ordinary rows."""
    return normal(rng, B, T, d), layer(rng, d, f), heads


def small_case() -> tuple[Array, Params, int]:
    """Whole numbers that a person can follow; no score is 0, and every mistake shows."""
    rng, shapes = np.random.default_rng(SEED), [(4, 4)] * 4 + [(4, 3), (3, 4)]
    params = {name: whole(rng, *shape, top=1) for name, shape in zip(NAMES, shapes, strict=True)}
    return SMALL.copy(), params, 2


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask hides the future, not the past"""
    args = case(rng, 2, 3, 8, 12, 2)
    causal.not_reversed(submission.pre_ln_block, reference.pre_ln_block, closed_layers(), args)


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is an array like x, also for one token, for one sequence, and for f below and above d"""
    sizes = [(2, 3, 8, 5, 2), (2, 1, 6, 7, 3), (1, 1, 4, 4, 2)]
    for call, answer in submission.pre_ln_block.each([case(rng, *size) for size in sizes]):
        expect.returned(call, answer, call.args[0])


@KATA.core
def influence(submission: Submission, reference: Any, rng: Rng) -> None:
    """row i of the result depends on the rows 0 to i of x, itself included, and on no later one"""
    args = case(rng, 2, 5, 8, 12, 2)
    causal.sees_no_later(submission.pre_ln_block, reference.pre_ln_block, closed_layers(), args, rng)


@KATA.core
def residuals(submission: Submission, reference: Any, rng: Rng) -> None:
    """with wo and w2 at zero both branches add nothing, so the result is x itself"""
    x, params, _ = small_case()
    shut = params | {"wo": 0 * params["wo"], "w2": 0 * params["w2"]}
    hint = "wo and w2 are zero here: what is left of the block is its two residuals."
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, [(x, shut, 2)], hint)


@KATA.core
def norm(submission: Submission, reference: Any, rng: Rng) -> None:
    """the norm of the feed-forward centres and scales each row on its own, rows of little spread too"""
    x, params, _ = small_case()
    shut = params | passing(4) | {"wo": np.zeros((4, 4))}
    hint = "wo is zero, and w1, w2 pass on what they get: this should be x + LN(x)."
    cases = [(x, shut, 2), (0.003 * x, shut, 2), (10 + 0.2 * normal(rng, 2, 3, 4), shut, 2)]
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, cases, hint)


@KATA.core
def prefix_invariance(submission: Submission, reference: Any, rng: Rng) -> None:
    """what follows a prefix does not change the result for that prefix, wherever it is cut"""
    causal.prefix_stays(submission.pre_ln_block, reference.pre_ln_block, case(rng, 2, 4, 6, 5, 2))


@KATA.core
def order_of_the_past(submission: Submission, reference: Any, rng: Rng) -> None:
    """permuting the earlier rows of x leaves the last row of the result as it was"""
    x, params, heads = case(rng, 2, 5, 8, 12, 2)
    moved = x[:, [2, 0, 3, 1, 4]].copy()
    (_, first), (call, second) = submission.pre_ln_block.each([(x, params, heads), (moved, params, heads)])
    want = expect.returned(call, first, x)[:, -1]
    got = expect.returned(call, second, x)[:, -1]
    if expect.differs(got, want).any():
        says = "the last row of the result changes when the earlier rows of x change places"
        hint = "Attention knows no order: positions come with the embedding, not here."
        raise Wrong(says, hint, call=call, answer=second)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is x + attention(LN(x)), and to that the feed-forward of its norm is added"""
    sizes = [(2, 3, 8, 5, 2), (1, 4, 12, 7, 3), (3, 1, 6, 9, 2), (2, 5, 8, 8, 4)]
    sizes += [(2, 3, 6, 5, 1), (2, 3, 6, 5, 6), (1, 1, 4, 4, 2), (1, 130, 4, 6, 2)]
    flat = (0.003 * normal(rng, 2, 4, 8), layer(rng, 8, 12), 2)
    mixed = (tokens(rng, 2, 6, 8), layer(rng, 8, 12), 2)
    cases = [small_case(), *(case(rng, *size) for size in sizes), flat, mixed]
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, cases)


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """x and params are left as they were, and read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.pre_ln_block, reference.pre_ln_block, [case(rng, 2, 3, 8, 5, 2)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """heads that do not divide d, an x of a wrong rank or without a token, and misfit weights raise ValueError"""
    x, params, heads = case(rng, 2, 3, 8, 5, 2)
    wrong: dict[tuple[str, ...], tuple[int, int]] = {("wo",): (8, 1), ("wq", "wk"): (8, 16), ("w2",): (5, 1)}
    cases = [(x, params, 3), *((bad, params, heads) for bad in (x[0], x[0, 0], x[:, :0]))]
    cases += [(x, params | dict.fromkeys(names, weights(rng, *shape)), heads) for names, shape in wrong.items()]
    expect.refuses(submission.pre_ln_block, cases)


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    expect.keeps_float32(submission.pre_ln_block, reference.pre_ln_block, [case(rng, 2, 3, 8, 5, 2)])


@KATA.follow_up
def large_activations(submission: Submission, reference: Any, rng: Rng) -> None:
    """activations and scores of about 1e3 stay finite"""
    x, params, heads = case(rng, 2, 4, 8, 5, 2)
    steep = params | {"wq": 40 * params["wq"], "wk": 40 * params["wk"], "w1": 1e3 * params["w1"]}
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, [(1e3 * x, steep, heads)])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    args = case(rng, 2, 3, 8, 5, 2)
    spaced = np.repeat(args[0], 2, axis=2)[:, ::-1, ::2]
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, [expect.strided(args), (spaced, *args[1:])])


LAST = "def pre_ln_block(x, params, heads):\n    return layer_norm(block(x, params, heads))\n\n\ndef block(x"

families.causal(KATA)
families.sublayers(KATA)
says = "there is one layer norm too many, at the end: a pre-LN block returns the bare sum"
KATA.mistake("final_norm", says, ("def pre_ln_block(x", LAST), look="the last line")
families.attention(KATA, feed_forward=True)
families.heads(KATA)
families.gelu(KATA)
families.layer_norm(KATA)
says = "the first residual is added in place, which overwrites the caller's x"
IN_PLACE = (families.FIRST, families.FIRST.replace("x = x +", "x +="))
KATA.mistake("input_modified", says, IN_PLACE, look="+= on an array that was passed in")
says = "the scores are divided by the root of T, the number of tokens, instead of the root of dh"
hint = "Cut the last token off. What may change about the weights of the first two?"
KATA.mistake("scale_sqrt_length", says, ("/ dh**0.5", "/ T**0.5"), look="which axis the width is read from", hint=hint)
says = "positions are added inside the block: they came with the embedding"
WAVES = "np.sin(np.outer(np.arange(x.shape[1]) + 1, np.arange(x.shape[2]) + 1))"
form = (families.FIRST, families.FIRST.replace("(x)", f"(x + {WAVES})"))
KATA.mistake("positions_added", says, form, look="what attention is given beside LN(x)", kind="convention")
families.no_max(KATA)
families.memory_order(KATA, f"variance = {families.VARIANCE}")
says = "weights of another shape are not refused: a w2 of one column broadcasts, and nobody notices"
families.guard(KATA, "weights_not_refused", says, "params[name].shape != shape", "refuses")

KATA.hint(
    "Write the two residual lines first, and only then what they call. Which parts of the block let tokens exchange "
    "anything, and which treat every token by itself?",
    "Attention alone mixes tokens; norms and feed-forward work row by row. Split the width so that each head has rows "
    "of its own, and decide what query i may see before its weights are made to sum to 1.",
    "Normalise x, project it three times, split into heads, compare every query with every key, scale by the root of "
    "the head's width, block the later keys, softmax along the keys, mix the values, merge, project, add to x. Then "
    "normalise that sum, widen, bend with the GELU, narrow, and add again.",
)
KATA.shape(mean="(B, T, 1)", variance="(B, T, 1)", q="(B, H, T, dh)", k="(B, H, T, dh)", v="(B, H, T, dh)")
KATA.shape(scores="(B, H, T, T)", future="(T, T)", weights="(B, H, T, T)", context="(B, H, T, dh)", x="(B, T, d)")
KATA.term(
    "where the norm goes",
    "Does the norm come before each sublayer (pre-LN) or after the residual sum (post-LN)?",
    "Before each. The residual adds the x that was not normalised, and no norm follows at the end.",
    (
        r"\bpre-?\W?(ln|norm)",
        r"\bpost-?\W?(ln|norm)",
        r"\bnorm.*\b(before|after|first|last|where)\b|\b(final|last|one|two) (layer.?)?(norm|ln)",
        r"\bresidual|\bskip\b",
    ),
    (UNLESS + r"(\bpost-?\W?(ln|norm)|\bnorm\w*\b[^.;]*\bafter (the|each|every) (residual|sum|add|sub|attention))",),
    ("post_ln",),
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
    "biases",
    "Do the projections or the feed-forward have biases?",
    "No biases: the six matrices in params are all the weights that there are.",
    (
        r"\bbias(es)?\b",
        r"\b(projections?|feed-?forward|ffn|linear|dense)\b.*\bbias|\bbias\w*\b.*\b(proj|linear|feed|ffn|dense)",
        r"\bintercept|\b[bc][12]\b",
    ),
    (UNLESS + r"\b(with|have|has|add|plus|include) (a |the )?bias",),
)
KATA.term(
    "padding, dropout and cache",
    "Must I handle padding, dropout or a cache, or is it the forward pass alone?",
    "The forward pass alone, over whole sequences of one length: no padding, no dropout, no cache, no gradient.",
    (
        r"\bpad(s|ded|ding)?\b|\bsame length\b",
        r"\bdropout\b|\btraining\b",
        r"\bcach",
        r"\bbackward|\bgradient|\bforward pass",
    ),
    (UNLESS + r"\b(apply|use|add|with|include|support|keep|handle) (a |the )?(kv )?(padding|dropout|cache|backward)",),
)
KATA.term(
    "positions",
    "Do I add positions here, or do they come with the embedding?",
    "With the embedding. The block knows the order of the tokens through the causal mask alone.",
    (
        r"\bpositional\b|\bpositions\b|\bposition emb",
        r"\brope\b|\brotary\b|\balibi\b|\bsin(usoid|e)",
        r"\border\b",
        r"\bembed",
    ),
    (
        UNLESS
        + r"\b(add|apply|use|with) (the |rotary |sinusoidal |learned )?(positions|positional|position emb|rope|rotary)",
    ),
    ("positions_added",),
)
KATA.question(
    "Pre-LN or post-LN: what changes in training, and which needs a final norm?",
    "In pre-LN the residual path is a bare sum: gradients reach the first layer unscaled, and deep stacks train with "
    "little or no warm-up. In post-LN every sum passes a norm; gradients near the output are large at first, which is "
    "why it needs warm-up. The pre-LN stream grows with depth and was never normalised: it needs one final norm "
    "before the logits.",
)
KATA.question(
    "What does the block cost, and from which T does the quadratic part overtake the rest?",
    "Time O(BTd^2 + BTdf + BT^2 d): projections, feed-forward, and the two products with the (T, T) matrix. Space "
    "O(BHT^2) for the scores, beside the activations. In multiply-adds a sequence takes 4Td^2 + 2Tdf + 2T^2 d, so the "
    "quadratic part overtakes from T = 2d + f; with f = 4d that is 6d, some thousands of tokens.",
)
KATA.question(
    "Where does dropout go?",
    "In training, on the attention weights after the softmax, on the output of each branch before it is added to the "
    "residual, and on the sum of the embeddings; some also put it inside the feed-forward. Not on the residual stream "
    "between them. What is kept is divided by the chance of being kept, so in evaluation dropout is the identity.",
)
KATA.question(
    "Why is a right forward pass no proof of training?",
    "A loss can be wrong although the model is right: targets not shifted, padding counted, logits already "
    "normalised. Gradients can be cut by a detached tensor, vanish by a bad initialisation, or never reach weights "
    "that the optimiser does not hold. So check that the first loss is about log V, that every weight has a gradient "
    "and moves, and that one small batch can be learned by heart.",
)
KATA.question(
    "The shapes are right and the rows of the weights sum to 1. What does that prove, and what would you test?",
    "Nothing: a reversed mask has both. I would change the last token and see that all earlier rows stay; cut the "
    "sequence and see that the prefix gives the same rows; print who sees whom for T = 3; change each weight and see "
    "that the result moves; shut both branches and get x back; and compare a tiny case with plain loops.",
)
