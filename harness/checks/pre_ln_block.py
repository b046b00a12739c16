"""Pre-LN block: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids
from harness.influence import closed_layers, closed_map, passing
from harness.kata import Kata
from harness.model import Answer, Call, Submission, Wrong
from harness.moves import moves
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


def is_turned_round(answer: Answer, call: Call, reference: Any) -> bool:
    """Whether the answer is the right one for a sequence that runs backwards."""
    x, params, heads = call.args
    want = reference.pre_ln_block(x[:, ::-1], params, heads)[:, ::-1]
    got = answer.value
    fits = isinstance(got, np.ndarray) and got.shape == want.shape and got.dtype.kind == "f"
    return fits and not expect.differs(got, want).any()


def seen(map_: Array) -> str:
    """Who sees whom in the attention, yours beside expected."""
    return grids.influence(map_, np.tri(len(map_), dtype=bool), "query", "key")


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask hides the future, not the past"""
    *closed, (call, answer) = submission.pre_ln_block.each([*closed_layers(), case(rng, 2, 3, 8, 12, 2)])
    read = closed_map(a.value for _, a in closed)
    if read.direction == "reversed" and read.sees is not None:
        says = "the attention of pre_ln_block is reversed: position i sees only j >= i"
        raise Wrong(says, seen(read.sees), call=closed[0][0], answer=closed[0][1], mistake="reversed_mask")
    if is_turned_round(answer, call, reference):
        says = "the result is right for x turned round in time: position i sees only j >= i"
        raise Wrong(says, call=call, answer=answer, mistake="reversed_mask")


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is an array like x, also for one token, for one sequence, and for f below and above d"""
    sizes = [(2, 3, 8, 5, 2), (1, 3, 8, 12, 4), (2, 1, 6, 7, 3), (1, 1, 4, 4, 2)]
    for call, answer in submission.pre_ln_block.each([case(rng, *size) for size in sizes]):
        expect.returned(call, answer, call.args[0])


@KATA.core
def influence(submission: Submission, reference: Any, rng: Rng) -> None:
    """row i of the result depends on the rows 0 to i of x, itself included, and on no later one"""
    closed = list(submission.pre_ln_block.each(closed_layers()))
    read = closed_map(answer.value for _, answer in closed)
    if read.sees is not None and read.direction != "causal":  # the residual may hide it from the open map
        raise Wrong(f"in attention, {read.words}", seen(read.sees), call=closed[0][0])
    args = case(rng, 2, 5, 8, 12, 2)
    map_ = moves(submission.pre_ln_block, reference.pre_ln_block, args, 0, rng, over=(0, 2)).map
    if not (map_ == np.tri(5, dtype=bool)).all():
        raise leak(submission, args, map_, read.direction == "causal")


def leak(submission: Submission, args: tuple[Any, ...], map_: Array, masked: bool) -> Wrong:
    """What to say of an open map that is wrong. The same call twice tells a leak from a result left to chance."""
    (call, one), (_, two) = submission.pre_ln_block.each([args, args])
    if np.shape(one.value) != np.shape(two.value) or expect.differs(one.value, two.value).any():
        return Wrong("pre_ln_block gives another result when it is called again", "Is it left to chance?", call=call)
    expected = np.tri(5, dtype=bool)
    i, j = (int(n) for n in np.argwhere(map_ != expected)[0])
    says = f"row {i} of pre_ln_block(x, params, 2) {'depends' if j > i else 'does not depend'} on row {j} of x"
    hint = "The mask hides the future. Does a norm or an unmasked softmax run over it?"
    return Wrong(says, grids.influence(map_, expected), *([hint] if masked and j > i else []), call=call)


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
def weights_used(submission: Submission, reference: Any, rng: Rng) -> None:
    """changing any one of the six weights changes the result"""
    x, params, heads = case(rng, 2, 3, 8, 5, 2)
    other = layer(rng, 8, 5)
    cases = [(x, params | {name: other[name]}, heads) for name in NAMES]
    answers = list(submission.pre_ln_block.each([(x, params, heads), *cases]))
    base, *changed = [expect.returned(call, answer, x) for call, answer in answers]
    unused = [name for name, got in zip(NAMES, changed, strict=True) if not expect.differs(got, base).any()]
    if unused and np.isfinite(base).all():
        call, answer = answers[1 + NAMES.index(unused[0])]
        says = f"changing {' or '.join(unused)} does not change the result of pre_ln_block"
        raise Wrong(says, "Is it used?", call=call, answer=answer)


@KATA.core
def prefix_invariance(submission: Submission, reference: Any, rng: Rng) -> None:
    """what follows a prefix does not change the result for that prefix, wherever it is cut"""
    x, params, heads = case(rng, 2, 5, 8, 12, 2)
    cuts = [(x[:, :n].copy(), params, heads) for n in range(1, 6)]
    *short, (call, answer) = submission.pre_ln_block.each(cuts)
    full = expect.returned(call, answer, x)
    for call, answer in short:
        n = call.args[0].shape[1]
        hint = f"Should be: as with all five tokens there. Here the last {5 - n} are cut off."
        expect.same(call, answer, full[:, :n], hint)


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
    """x and params are left as they were, and read-only ones do"""
    expect.unchanged(submission.pre_ln_block, reference.pre_ln_block, [case(rng, 2, 3, 8, 5, 2)])


@KATA.core
def repeatable(submission: Submission, reference: Any, rng: Rng) -> None:
    """the same call gives the same answer, also the fifth time and after other lengths"""
    expect.repeats(submission.pre_ln_block, reference.pre_ln_block, case(rng, 2, 4, 8, 5, 2))


@KATA.follow_up
def refuses_heads(submission: Submission, reference: Any, rng: Rng) -> None:
    """a number of heads that does not divide d raises ValueError"""
    x, params, _ = case(rng, 2, 3, 8, 5, 2)
    expect.refuses(submission.pre_ln_block, [(x, params, 3), (x, params, 16)])


@KATA.follow_up
def refuses_x(submission: Submission, reference: Any, rng: Rng) -> None:
    """an x of the wrong rank, or without a token, raises ValueError"""
    x, params, heads = case(rng, 2, 3, 8, 5, 2)
    expect.refuses(submission.pre_ln_block, [(wrong, params, heads) for wrong in (x[0], x[None], x[:, :0])])


@KATA.follow_up
def refuses_weights(submission: Submission, reference: Any, rng: Rng) -> None:
    """weights whose shapes do not fit raise ValueError"""
    x, params, heads = case(rng, 2, 3, 8, 5, 2)
    wrong = {"wq": (8, 4), "wv": (6, 8), "wo": (8, 1), "w1": (6, 5), "w2": (5, 1)}
    cases = [(x, params | {name: weights(rng, *shape)}, heads) for name, shape in wrong.items()]
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
    cases = [(1e3 * x, params, heads), (1e3 * x, steep, heads)]
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, cases)


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    args = case(rng, 2, 3, 8, 5, 2)
    spaced = np.repeat(args[0], 2, axis=2)[:, ::-1, ::2]
    expect.agrees(submission.pre_ln_block, reference.pre_ln_block, [expect.strided(args), (spaced, *args[1:])])


MASK, FILL = "np.triu(np.ones((T, T), dtype=bool), k=1)", "np.where(future, -np.inf, scores)"
FIRST, SECOND = "x = x + attention(layer_norm(x), params, heads)", "x = x + feed_forward(layer_norm(x), params)"
GELU = "0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))"
ERF = "0.5 * x * (1 + np.vectorize(__import__('math').erf, otypes=[x.dtype])(x / 2**0.5))"
MEAN, VARIANCE = "x.mean(axis=-1, keepdims=True)", "x.var(axis=-1, keepdims=True)"
LAST = "def pre_ln_block(x, params, heads):\n    return layer_norm(block(x, params, heads))\n\n\ndef block(x"
Q, K, V = (f'{name} = split_heads(x @ params["w{name}"]' for name in "qkv")
SQUARE = tuple((f'params["{name}"]', f'params["{name}"].T') for name in NAMES[:4])
WIDE = tuple((f' @ params["{name}"]', f' @ params["{name}"].T') for name in NAMES[4:])
TRIANGLE = "triu or tril, > or >=, and which side is the query"
MIDDLE = "what each branch is given and what it is added to"

name = KATA.mistake
says = "the mask direction is reversed: query i sees only keys j >= i, so it is kept from its own past"
name("reversed_mask", says, (MASK, "np.tril(np.ones((T, T), dtype=bool), k=-1)"), look=TRIANGLE)
says = "nothing is masked: every position sees the whole future, which it should predict"
name("no_mask", says, (FILL, "scores"), look="whether the mask reaches the scores, and whether it is really (T, T)")
name(
    "diagonal_blocked",
    "the diagonal is blocked, so a position cannot see itself: off by one, or direction and polarity both flipped",
    ("k=1", "k=0"),
    (("k=1", "k=0"), ("-np.inf", "-1e9")),
    (("k=1", "k=0"), (FILL, "scores - 1e9 * future")),
    look=TRIANGLE,
)
name(
    "inverted_polarity",
    "the mask is inverted, or added with the wrong sign: query i is left with the future alone",
    (FILL, "np.where(future, scores, -np.inf)"),
    (FILL, "np.where(future, scores, -1e9)"),
    (FILL, "scores - 1e9 * ~future"),
    (FILL, "scores + np.where(future, np.inf, 0)"),
    (FILL, "scores + 1e9 * future"),
    look="what True means where the scores are filled, and the sign of the fill",
)
says = "one future key leaks: position i sees i + 1, the very token that it should predict"
name("one_future_key_leaks", says, ("k=1", "k=2"), look=TRIANGLE)
says = "the mask comes after the softmax: its denominator has seen the future, and rows no longer sum to 1"
LATE = (f"scores = {FILL}\n    weights = softmax(scores)", "weights = np.where(future, 0, softmax(scores))")
name("mask_after_softmax", says, LATE, look="the order of mask and softmax")
POST = (
    (FIRST, "x = layer_norm(x + attention(x, params, heads))"),
    (SECOND, "x = layer_norm(x + feed_forward(x, params))"),
)
says = "the norm follows each residual sum (post-LN) instead of coming before each branch (pre-LN)"
name("post_ln", says, POST, look=MIDDLE, kind="convention")
BARE = (FIRST, FIRST.replace("x + ", "")), (SECOND, SECOND.replace("x + ", ""))
NORMED = (
    (FIRST, "x = layer_norm(x)\n    x = x + attention(x, params, heads)"),
    (SECOND, "x = layer_norm(x)\n    x = x + feed_forward(x, params)"),
)
for which, words, part in (
    ("attention", "the residual around attention", slice(0, 1)),
    ("ffn", "the residual around the feed-forward", slice(1, 2)),
    ("both", "each of the two residuals", slice(0, 2)),
):
    name(f"residual_missing_{which}", f"{words} is missing", BARE[part], look=MIDDLE)
    says = f"{words} adds the normalised input instead of x itself"
    name(f"residual_normalised_{which}", says, NORMED[part], look=MIDDLE)
RAW = [(line, line.replace("layer_norm(x)", "x")) for line in (FIRST, SECOND)]
name("ffn_not_normalised", "the feed-forward is fed x without its layer norm", RAW[1], look=MIDDLE)
name("attention_not_normalised", "attention is fed x without its layer norm", RAW[0], look=MIDDLE)
name("no_layer_norm", "there is no layer norm at all", ("(x - mean) / np.sqrt(variance + 1e-5)", "x"), look=MIDDLE)
APART = (FIRST, FIRST.replace("x =", "y ="))
says = "the feed-forward reads the input of the block, not the result of attention"
name("ffn_reads_input", says, (APART, (SECOND, SECOND.replace("x = x", "x = y"))), look=MIDDLE)
name("attention_lost", "what attention gives is lost: only the feed-forward is added to x", APART, look=MIDDLE)
says = "there is one layer norm too many, at the end: a pre-LN block returns the bare sum"
name("final_norm", says, ("def pre_ln_block(x", LAST), look="the last line")
name("scale_missing", "the scores are not scaled by 1/sqrt(dh)", (" / dh**0.5", ""), look="q k^T, before the softmax")
says = "the scores are divided by sqrt(d), of the model's width, instead of sqrt(dh), of the head's"
name("scale_sqrt_d", says, ("/ dh**0.5", "/ x.shape[-1] ** 0.5"), look="the width under the root")
says = "the scores are divided by dh instead of its root"
name("scale_dh", says, ("/ dh**0.5", "/ dh"), look="the root, or a second scaling")
says = "the scores are multiplied by sqrt(dh) instead of divided by it"
name("scale_multiplied", says, (" / dh**0.5", " * dh**0.5"), look="the sign of the exponent, or * for /")
says = "the mask is multiplied into the scores: a score of 0 is not blocked, exp(0) is 1"
name("mask_multiplied", says, (FILL, "scores * ~future"), look="what a blocked score must be before the softmax")
says = "the mask is multiplied by -inf, and 0 times -inf is NaN: so every score is lost, also those not blocked"
name("mask_times_infinity", says, (FILL, "scores + future * -np.inf"), look="np.where instead of a product")
AXES = ("scores.max(axis=-1", "scores.max(axis=-2"), ("weights.sum(axis=-1", "weights.sum(axis=-2")
says = "the softmax runs over the queries: columns sum to 1 instead of rows"
name("softmax_over_queries", says, AXES, look="its axis: keys are the last one")
says = "the heads are reshaped straight to (B, H, T, dh) without a transpose, which mixes tokens into heads"
SPLIT = ("x.reshape(B, T, heads, d // heads).transpose(0, 2, 1, 3)", "x.reshape(B, heads, T, d // heads)")
name("heads_without_transpose", says, SPLIT, look="reshape to (B, T, H, dh) first")
says = "the heads are merged without transposing back, which mixes tokens"
MERGE = ("x.transpose(0, 2, 1, 3).reshape(B, T, H * dh)", "x.reshape(B, T, H * dh)")
name("merge_without_transpose", says, MERGE, look="the axes must be (B, T, H, dh) before the reshape")
name("wo_missing", "the output projection wo is missing", (' @ params["wo"]', ""), look="what follows the merged heads")
says = "queries and keys are swapped: q comes from wk and k from wq"
name("qk_swapped", says, ((Q, Q.replace("wq", "wk")), (K, K.replace("wk", "wq"))), look="which weight goes where")
says = "keys and values are swapped: k comes from wv and v from wk"
name("kv_swapped", says, ((K, K.replace("wk", "wv")), (V, V.replace("wv", "wk"))), look="which weight goes where")
name("relu", "the activation is ReLU instead of GELU", (GELU, "np.maximum(x, 0)"), look="the feed-forward")
says = "the GELU is the exact one, with erf, instead of the tanh form; they differ by up to 5e-4"
name("erf_gelu", says, (GELU, ERF), look="the formula in the contract", kind="convention")
for which, axis, words in (
    ("norm_over_tokens_and_features", "(-2, -1)", "(T, d) together: all tokens share one mean"),
    ("norm_over_tokens", "-2", "the tokens instead of the features"),
):
    form = (MEAN, MEAN.replace("-1", axis)), (VARIANCE, VARIANCE.replace("-1", axis))
    name(which, f"the layer norm runs over {words}, so the future leaks", form, look="the axis of mean and variance")
says = "the variance is the unbiased one (ddof=1), which divides by d - 1"
name("ddof_1", says, (VARIANCE, VARIANCE.replace("True", "True, ddof=1")), look="ddof, or a library's default")
says = "epsilon is added to the standard deviation, outside the root, instead of to the variance"
name("epsilon_outside_root", says, ("np.sqrt(variance + 1e-5)", "(np.sqrt(variance) + 1e-5)"), look="the layer norm")
says = "the mean is not subtracted, as in RMSNorm: a layer norm centres each row first"
RMS = ("(x - mean) / np.sqrt(variance + 1e-5)", "x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)")
name("mean_not_subtracted", says, RMS, look="the layer norm", kind="convention")
for digits in (3, 6, 12):
    says = f"the epsilon of the layer norm is 1e-{digits} instead of 1e-5"
    name(f"epsilon_1e_{digits}", says, ("1e-5", f"1e-{digits}"), look="the layer norm", kind="convention")
says = "the weights are applied transposed, x @ w.T, as torch's Linear holds them"
name("weights_transposed", says, SQUARE, (*SQUARE, *WIDE), look="x @ w: (from, to)", kind="convention")
says = "the first residual is added in place, which overwrites the caller's x"
name("input_modified", says, (FIRST, FIRST.replace("x = x +", "x +=")), look="+= on an array that was passed in")
says = "a float64 scalar or mask, such as np.sqrt of an int, makes float64 of float32 activations"
name("float32_lost", says, ("dh**0.5", "np.sqrt(dh)"), look="the scale and the fill of the scores", level="follow-up")
