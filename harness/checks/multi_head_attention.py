"""Multi-head attention: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import UNLESS, facts, masks
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moves, stays
from harness.probe import Rng, hidden, normal, weights

KATA = Kata(track=2, minutes=15, functions=("multi_head_attention",))
NAMES = ("wq", "wk", "wv", "wo")
Case = tuple[Any, ...]


def case(rng: Rng, B: int, T: int, H: int, dh: int, *mask: int) -> Case:
    """Ordinary rows; with a `mask` shape, a mask that leaves every query a key."""
    params = {name: weights(rng, H * dh, H * dh) for name in NAMES}
    return (normal(rng, B, T, H * dh), params, H, *([hidden(rng, *mask)] if mask else []))


def small() -> Case:
    """Two tokens, two heads, whole numbers; no score is 0."""
    x = np.array([[[1.0, 2.0, 0.0, 1.0], [2.0, -1.0, 1.0, 1.0]]])
    one = np.eye(4)
    turn = one[[1, 0, 3, 2]]
    return x, {"wq": one + turn, "wk": one, "wv": one - np.eye(4, k=1), "wo": one + np.eye(4, k=2)}, 2


def causal(T: int) -> Any:
    """The mask of a decoder."""
    return np.triu(np.ones((T, T), bool), k=1)


@KATA.core
def returns_two(submission: Submission, reference: Any, rng: Rng) -> None:
    """the answer is the output (B, T, d) and the weights (B, H, T, T), of one token and one sequence too"""
    cases = [case(rng, 2, 4, 3, 2), case(rng, 1, 1, 2, 3), case(rng, 3, 5, 2, 4, 5, 5)]
    for call, answer in submission.multi_head_attention.each(cases):
        expect.returned(call, answer, reference.multi_head_attention(*call.args))


@KATA.core
def weights_sum_to_one(submission: Submission, reference: Any, rng: Rng) -> None:
    """in each head the weights of a query are not negative, and sum to 1 over the keys"""
    cases = [small(), (*small(), causal(2)), case(rng, 2, 4, 3, 2), case(rng, 2, 4, 3, 2, 2, 1, 4, 4)]
    expect.distributes(
        submission.multi_head_attention, reference.multi_head_attention, cases, "the weights of one query in one head"
    )


@KATA.core
def sees_everything(submission: Submission, reference: Any, rng: Rng) -> None:
    """without a mask every position sees every other, the later ones too"""
    found = moves(submission.multi_head_attention, reference.multi_head_attention, case(rng, 2, 4, 2, 3), 0, rng)
    sequences = moves(
        submission.multi_head_attention, reference.multi_head_attention, case(rng, 3, 2, 2, 3), 0, rng, 0, over=(1, 2)
    )
    found.should_be(np.ones((8, 4), bool), "output row", "row of x")
    sequences.should_be(np.eye(3, dtype=bool), "sequence", "sequence of x")


@KATA.core
def sees_what_is_open(submission: Submission, reference: Any, rng: Rng) -> None:
    """with a causal mask row i depends on the rows 0 to i of x, and on no later one"""
    args = (*case(rng, 2, 5, 2, 3), causal(5))
    found = moves(submission.multi_head_attention, reference.multi_head_attention, args, 0, rng, over=(0, 2))
    found.should_be(np.tri(5, dtype=bool), "output row", "row of x")


@KATA.core
def padding_never_matters(submission: Submission, reference: Any, rng: Rng) -> None:
    """what is blocked for every query of a sequence does not matter to the others, however large it is"""
    x, params, heads = case(rng, 3, 5, 2, 3)
    blocked = np.zeros((3, 1, 1, 5), bool)
    blocked[np.arange(3), :, :, [0, 2, 4]] = True
    params["wq"][0] = 0  # so that a row that is large in feature 0 is an ordinary query, but a large key and value
    args = (x, params, heads, blocked)
    far = np.where(blocked[:, 0, 0, :, None], np.eye(6)[0], 0)
    filled = [(x + size * far, params, heads, blocked) for size in (1e6, -1e6, 2e4, 2e3, -2e2)]
    right = reference.multi_head_attention(*args)
    stays(submission.multi_head_attention, [args, *filled], right, "what is blocked is large")


@KATA.core
def heads_apart(submission: Submission, reference: Any, rng: Rng) -> None:
    """head h works on the features h*dh to (h+1)*dh of q, k and v: with wo the identity each keeps its place"""
    x, params, heads = case(rng, 2, 4, 3, 2)
    one = np.eye(6)
    bare = {"wq": one, "wk": one, "wv": one, "wo": one}
    hint = "Here wo is the identity, so each feature of the output comes from one head."
    cases = [(small()[0], dict.fromkeys(NAMES, np.eye(4)), 2), (x, bare, heads), (x, params | {"wo": one}, heads)]
    expect.agrees(submission.multi_head_attention, reference.multi_head_attention, cases, hint)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the numbers are right for any number of tokens and heads, and any mask that broadcasts, False everywhere too"""
    shapes = [(2, 4, 2, 3), (3, 3, 3, 2), (2, 3, 4, 1), (1, 1, 2, 2), (2, 2, 2, 5), (1, 66, 2, 2)]
    masks = [(4, 4), (2, 1, 1, 4), (2, 1, 4, 4), (2, 3, 4, 4), (1, 3, 1, 4)]
    cases = [small(), (*small(), causal(2)), *(case(rng, *shape) for shape in shapes)]
    cases += [case(rng, 2, 4, 3, 2, *mask) for mask in masks]
    cases.append((*case(rng, 2, 4, 3, 2), np.zeros((4, 4), bool)))
    expect.agrees(submission.multi_head_attention, reference.multi_head_attention, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """x, params and the mask are left as they were, and read-only ones do; five calls give the same answer"""
    cases = [case(rng, 2, 4, 3, 2), case(rng, 2, 4, 3, 2, 2, 1, 4, 4)]
    expect.unchanged(submission.multi_head_attention, reference.multi_head_attention, cases)


@KATA.follow_up
def refuses_heads(submission: Submission, reference: Any, rng: Rng) -> None:
    """a number of heads that does not divide d raises ValueError"""
    x, params, _ = case(rng, 2, 3, 4, 2)
    expect.refuses(submission.multi_head_attention, [(x, params, 3), (x, params, 16), (x, params, 0)])


@KATA.follow_up
def refuses_misfits(submission: Submission, reference: Any, rng: Rng) -> None:
    """an x of the wrong rank, or weights or a mask that do not fit, raise ValueError"""
    x, params, heads = case(rng, 2, 3, 4, 2)
    cases = [(wrong, params, heads) for wrong in (x[0], x[None], x[:, :0])]
    cases += [(x, params | {n: weights(rng, *s)}, heads) for n, s in {"wq": (8, 4), "wv": (6, 8), "wo": (8, 1)}.items()]
    masks_ = [np.zeros(shape, bool) for shape in ((4, 4), (3, 1, 1, 3), (2, 2, 4, 3, 3))]
    expect.refuses(submission.multi_head_attention, [*cases, *((x, params, heads, blocked) for blocked in masks_)])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    cases = [case(rng, 2, 4, 3, 2), case(rng, 2, 4, 3, 2, 4, 4)]
    expect.keeps_float32(submission.multi_head_attention, reference.multi_head_attention, cases)


@KATA.follow_up
def large_activations(submission: Submission, reference: Any, rng: Rng) -> None:
    """activations and scores of 1e3 and more stay finite"""
    (x, *rest), (y, *masked) = case(rng, 2, 4, 3, 2), case(rng, 2, 4, 3, 2, 4, 4)
    expect.agrees(
        submission.multi_head_attention, reference.multi_head_attention, [(1e3 * x, *rest), (1e3 * y, *masked)]
    )


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays that are not C-contiguous give the same result"""
    args = case(rng, 2, 4, 3, 2, 2, 1, 4, 4)
    spaced = np.repeat(args[0], 2, axis=2)[:, ::-1, ::2]
    cases = [expect.strided(args), (spaced, *args[1:])]
    expect.agrees(submission.multi_head_attention, reference.multi_head_attention, cases)


RETURN, SOFTMAX = "return output, weights", "weights = softmax(scores)"
APART, TOGETHER = "x.reshape(B, T, heads, d // heads).transpose(0, 2, 1, 3)", "x.transpose(0, 2, 1, 3).reshape"
CALLED = "check_shapes(x, params, heads, blocked)\n"

families.attention(KATA, *masks.ALL_OVER_QUERIES[1:])
families.heads(KATA)
masks.blocked(KATA, guarded=False)
name, look = KATA.mistake, "what is returned second"
says = "the weights are averaged over the heads, as nn.MultiheadAttention returns them by default"
name("weights_averaged", says, (RETURN, "return output, weights.mean(axis=1)"), look=look, kind="convention")
says = "the scores are returned beside the output, not the weights"
name("scores_returned", says, (RETURN, "return output, scores"), look=look)
says = "the weights come first and the output second"
name("parts_swapped", says, (RETURN, "return weights, output"), look="the order of what is returned")
says = "x is added to the output: the residual is the block's business, not the layer's"
form = (RETURN, "return x + output, weights")
name("residual_added", says, form, look="what is added after wo", kind="convention")
says = "x is normalised first: the norm is the block's business, not the layer's"
normed = "x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)"
name("norm_added", says, (CALLED, f"{CALLED}    {normed}\n"), look="what happens to x before wq", kind="convention")
says = "a causal mask is built in: without a mask the layer hides nothing"
future = "np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1)"
forms = [(SOFTMAX, f"scores = np.where({future}, {fill}, scores)\n    {SOFTMAX}") for fill in ("-np.inf", "-1e9")]
hint = "Change the last row of x, without a mask: which rows of the result may move?"
look = "whether anything is blocked when blocked is None"
name("always_causal", says, *forms, look=look, hint=hint, kind="convention")
says = "the heads take every H-th feature instead of a block of dh features each"
apart = (APART, "x.reshape(B, T, d // heads, heads).transpose(0, 3, 1, 2)")
both = (apart, (TOGETHER, "x.transpose(0, 2, 3, 1).reshape"))
name("interleaved_heads", says, both, apart, look="the reshape to (B, T, H, dh)")
says = "all heads use the weights of the first one, as if its pattern were shared"
form = (SOFTMAX, f"{SOFTMAX}\n    weights = np.repeat(weights[:, :1], heads, axis=1)")
name("first_head_for_all", says, form, look="an index 0 on the axis of the heads")
form = ('x @ params["wv"]', "x")
name("wv_missing", "the values are not projected: they are x itself", form, look="what v is made from")
says = "the softmax is missing: the scores themselves are used as weights"
name("softmax_missing", says, (SOFTMAX, "weights = scores"), look="between scores and values")
says = "a number of heads that does not divide the width is not refused"
families.guard(KATA, "heads_not_refused", says, "heads < 1 or d % heads", "refuses_heads")
says = "weights of another shape are not refused"
families.guard(KATA, "weights_not_refused", says, "params[name].shape != (d, d)", "refuses_misfits")
families.memory_order(KATA, "check_shapes(x, params, heads, blocked)")
families.no_max(KATA)
says = "the scale is folded into wq in place: the weights belong to the caller, and shrink with every call"
query = 'q = split_heads(x @ params["wq"], heads)'
folded = (query, f'params["wq"] *= (x.shape[-1] // heads) ** -0.5\n    {query}'), (" / dh**0.5", "")
KATA.mistake("input_modified", says, folded, look="*= on an array that was passed in")

KATA.hint(
    "One attention, done H times side by side. Which part of the width belongs to each head, and when do the heads "
    "meet again?",
    "Project x three times at full width, then cut the width into H runs and bring the axis of the heads in front of "
    "the tokens: all heads are then one product of matrices. Merging must undo exactly that, before wo.",
    "Queries, keys and values are x times three weights; reshape each so that the width becomes heads by dh, and swap "
    "the axes of tokens and heads. Compare, scale by the root of dh, block, softmax along the keys, mix the values. "
    "Swap the axes back, join the heads, and multiply by wo. Return the weights as well.",
)
KATA.shape(q="(B, H, T, dh)", k="(B, H, T, dh)", v="(B, H, T, dh)", scores="(B, H, T, T)", weights="(B, H, T, T)")
KATA.shape(context="(B, T, d)", output="(B, T, d)")
KATA.term(
    "causal or not",
    "Is the layer causal by itself, or only through the mask that it is given?",
    "Only through the mask. Without one, every position sees every other.",
    (r"\bcausal", r"\bfuture\b|\blater\b|\bpast\b", r"\bby itself\b|\bbuilt in\b", r"\bdirection|\bdecoder\b"),
    (UNLESS + r"\b(is|always|assume|make it|stays?) causal|" + UNLESS + r"\bbuild (the|a) causal",),
    ("always_causal",),
)
KATA.term(
    "norm and residual",
    "Are the layer norm and the residual part of this function?",
    "Neither: the projections and the attention alone. The block adds and normalises.",
    (r"\bresidual|\bskip\b", r"(\b|_)(layer ?norm|norm\w*|ln)\b", r"\badd(s|ed)? x\b", r"\bdropout\b"),
    (UNLESS + r"\b(with|add|adds|include|plus|apply) (a |the |an )?(residual|skip|layer ?norm|norm)",),
    ("residual_added", "norm_added"),
)
KATA.term(
    "weights that come back",
    "Do I return the weights of every head, or their mean over the heads?",
    "Of every head, (B, H, T, T), beside the output.",
    (
        r"\breturn\w*\b.*\bweights\b",
        r"\bweights\b.*\b(mean|averaged?|each|every|per)\b",
        r"\b(mean|averaged?)\b.*\bheads?\b",
        r"\btuple\b",
    ),
    (
        UNLESS
        + r"\b(mean|averaged?) (over|across|of) (the |all )?heads|"
        + UNLESS
        + r"\b(return|give)s? (only|just) the output",
    ),
    ("weights_averaged",),
)
KATA.term(
    "features of a head",
    "Which features belong to head h: a block of neighbours, or every H-th one?",
    "A block: h*dh to (h+1)*dh.",
    facts.OF_A_HEAD,
    (UNLESS + r"\b(interleaved|every h-th|strided)\b",),
)
KATA.fact(
    "shape of the mask",
    "What shape does the mask have?",
    "Anything that broadcasts to (B, H, T, T), such as (T, T) or (B, 1, 1, T).",
    (r"\bmask\w*\b.*\b(shape|dim\w*|axes)|\b(shape|dim\w*|axes)\b.*\bmask", r"\bbroadcast", r"\b(t, ?t|1, ?1, ?t)\b"),
)
KATA.fact("no mask", "May blocked be None?", "Yes: None blocks nothing.", (r"\bnone\b", r"\boptional\b|\bdefault\b"))
KATA.fact(
    "queries with everything blocked",
    "Can a query have every key blocked?",
    "No, that does not occur: each query has something to see.",
    (r"\b(all|every\w*|whol|entire|fully|complete)\w*\b.*\b(mask|block|padd)", r"\bnans?\b", r"\bnothing\b"),
)
KATA.term(
    "biases",
    "Do the four projections have biases?",
    "No biases: the four matrices are all the weights that there are.",
    (r"\bbias(es)?\b", r"\bintercept\b", r"\blinear\b.*\bbias|\bbias\w*\b.*\b(linear|proj)"),
    (UNLESS + r"\b(with|have|has|add|plus|include) (a |the )?bias",),
)
KATA.question(
    "Why several heads, when one of full width costs the same?",
    "One head gives each query one distribution: to look at two places for two reasons it must average them. Several "
    "heads each look somewhere of their own, and wo combines what they bring. The multiply-adds are the same, 4 T d^2 "
    "+ 2 T^2 d for a sequence, only the scores take H times the memory. The price is a smaller dh: keys of low rank, "
    "so very many heads stop helping.",
)
KATA.question(
    "What do grouped-query and multi-query attention change?",
    "Several query heads share one head of keys and values: wk and wv become (d, G*dh) with G groups, one for "
    "multi-query. The cache of keys and values shrinks by H/G, and with it the memory that every step of decoding "
    "must read, which is what limits its speed. Queries keep their H heads. The loss in quality is small with about 8 "
    "groups.",
)
KATA.question(
    "Where are the parameters, and what do wq and wk do together?",
    "Four matrices of d by d: 4 d^2, with a feed-forward of 4 d another 8 d^2. In each head the scores depend only on "
    "the product of its parts of wq and the transposed wk, a form of rank dh; likewise wv and wo act as one map of "
    "rank dh. So both pairs could be merged, at more cost. Separate factors keep it low in rank and cheap.",
)
KATA.question(
    "You see a right output but wrong weights, or the reverse. What does each tell you?",
    "Right output, wrong weights: what is returned is not what was used, such as scores, a mean over the heads, or "
    "another layout. Right weights, wrong output: the error lies after the softmax, in wv, in merging the heads or in "
    "wo. Both wrong: look at the scores, the scale, the mask or the split. Compare step by step from the left.",
)
