"""Attention: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import UNLESS, facts, masks
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moves, stays
from harness.probe import Rng, hidden, normal

KATA = Kata(track=2, minutes=10, functions=("attention",))
Case = tuple[Any, ...]


def case(rng: Rng, B: int, H: int, T: int, S: int, dh: int, *mask: int) -> Case:
    """Ordinary rows; with a `mask` shape, a mask that leaves every query a key."""
    rows = [normal(rng, B, H, length, dh) for length in (T, S, S)]
    return (*rows, hidden(rng, *mask)) if mask else tuple(rows)


def small() -> Case:
    """One head, two queries, three keys, whole numbers; no score is 0."""
    q = np.array([[[[1.0, 2.0], [3.0, -1.0]]]])
    k = np.array([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]])
    v = np.array([[[[4.0, 0.0], [0.0, 8.0], [2.0, -6.0]]]])
    return q, k, v


@KATA.core
def returns_two(submission: Submission, reference: Any, rng: Rng) -> None:
    """the answer is the output (B, H, T, dh) and the weights (B, H, T, S), for T above, below and equal to S"""
    cases = [case(rng, 2, 3, 4, 5, 2), case(rng, 2, 1, 5, 3, 4), case(rng, 1, 2, 3, 3, 2, 3, 3)]
    for call, answer in submission.attention.each(cases):
        expect.returned(call, answer, reference.attention(*call.args))


@KATA.core
def weights_sum_to_one(submission: Submission, reference: Any, rng: Rng) -> None:
    """the weights of each query are not negative, and sum to 1 over the keys"""
    cases = [small(), (*small(), np.array([False, True, False])), case(rng, 2, 3, 4, 5, 2, 2, 1, 4, 5)]
    expect.distributes(submission.attention, reference.attention, cases, "the weights of one query, none below 0,")


@KATA.core
def queries_alone(submission: Submission, reference: Any, rng: Rng) -> None:
    """what query t gets depends on no other query"""
    args = case(rng, 2, 2, 4, 5, 3)
    found = moves(submission.attention, reference.attention, args, 0, rng, axis=2, over=(0, 1, 3))
    found.should_be(np.eye(4, dtype=bool), "output row", "query")


@KATA.core
def sees_every_key(submission: Submission, reference: Any, rng: Rng) -> None:
    """without a mask each query looks at every key, in its own head and sequence alone"""
    args = case(rng, 2, 2, 4, 4, 3)
    found = moves(submission.attention, reference.attention, args, 1, rng, axis=2, over=(0, 1, 3))
    found.should_be(np.ones((4, 4), bool), "output row", "key")
    heads = moves(submission.attention, reference.attention, case(rng, 2, 3, 2, 4, 2), 2, rng, axis=1, over=(0, 2, 3))
    heads.should_be(np.eye(3, dtype=bool), "head", "head of v")


@KATA.core
def sees_what_is_open(submission: Submission, reference: Any, rng: Rng) -> None:
    """with a mask query i gets the value of key j exactly where [i, j] is False"""
    args = case(rng, 2, 2, 4, 4, 3, 2, 1, 4, 4)
    found = moves(submission.attention, reference.attention, args, 2, rng, axis=2, over=(1, 3))
    sides = "Output rows 0 to 3 are the first row of the batch, 4 to 7 the second."
    found.should_be(~args[3].reshape(8, 4), "output row", "value", sides)


@KATA.core
def blocked_keys_never_matter(submission: Submission, reference: Any, rng: Rng) -> None:
    """a key that is blocked for everyone does not matter, however large it is"""
    q, k, v, blocked = args = case(rng, 3, 2, 6, 5, 3, 3, 1, 1, 5)
    gone, signs = blocked.swapaxes(-1, -2), np.sign(normal(rng, *k.shape))
    # Several sizes, since a penalty that is too small is no block: it wins over some of the scores of its own size.
    filled = [(q, *(np.where(gone, size * signs, a) for a in (k, v)), blocked) for size in (1e6, 2e4, 2e3, 2e2)]
    stays(submission.attention, [args, *filled], reference.attention(*args), "what is blocked is large")


@KATA.core
def fetches(submission: Submission, reference: Any, rng: Rng) -> None:
    """where all values are the same row, every query gets that row"""
    q, k, v = small()
    cases = [(q, k, np.tile(v[..., :1, :], (3, 1)), *mask) for mask in ((), (np.array([True, False, False]),))]
    expect.agrees(submission.attention, reference.attention, cases, "The rows of v are all the same here.")


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the numbers are right, for every size, with scores near 0 and far from it"""
    shapes = [(2, 3, 4, 4, 2), (2, 2, 3, 5, 7), (3, 4, 5, 2, 3), (2, 3, 1, 4, 2), (2, 3, 4, 1, 2), (1, 1, 66, 70, 3)]
    q, k, v = case(rng, 2, 3, 4, 5, 6)
    cases = [small(), *(case(rng, *shape) for shape in shapes), (3 * q, 3 * k, v), (0.1 * q, k, v)]
    expect.agrees(submission.attention, reference.attention, cases)


@KATA.core
def masks_of_any_shape(submission: Submission, reference: Any, rng: Rng) -> None:
    """a mask may be (T, S), (B, 1, 1, S), (B, H, T, S) or anything else that broadcasts, and False everywhere"""
    sizes = (2, 3, 4, 4, 2)
    shapes = [(4, 4), (4,), (2, 1, 1, 4), (2, 1, 4, 4), (2, 3, 4, 4), (1, 3, 1, 4), (1, 1, 4, 4)]
    q, k, v = case(rng, *sizes)
    causal = np.triu(np.ones((4, 4), bool), k=1)
    cases = [(*small(), np.array([[False, False, True], [True, False, False]])), (q, k, v, causal)]
    cases += [case(rng, *sizes, *shape) for shape in shapes] + [(q, k, v, np.zeros((4, 4), bool))]
    cases += [case(rng, 2, 3, 4, 5, 2, 2, 1, 4, 5), case(rng, 3, 2, 5, 4, 3, 3, 1, 1, 4)]
    expect.agrees(submission.attention, reference.attention, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """q, k, v and the mask are left as they were, and read-only ones do; five calls give the same answer"""
    cases = [case(rng, 2, 3, 4, 5, 2), case(rng, 2, 3, 4, 5, 2, 2, 1, 4, 5)]
    expect.unchanged(submission.attention, reference.attention, cases)


@KATA.follow_up
def everything_blocked(submission: Submission, reference: Any, rng: Rng) -> None:
    """a query with every key blocked gets zero weights and a zero output, without NaN or warning"""
    args = case(rng, 2, 2, 3, 4, 3, 2, 1, 3, 4)
    args[3][0, 0, 1] = True
    one = (*small(), np.array([[True, True, True], [False, False, True]]))
    expect.silent(submission.attention, reference.attention, [one, args])


@KATA.follow_up
def large_scores(submission: Submission, reference: Any, rng: Rng) -> None:
    """scores of about 1e3 stay finite"""
    q, k, v, blocked = case(rng, 2, 2, 3, 4, 3, 3, 4)
    cases = [(40 * q, 40 * k, v), (q + 900, k + 1, v, blocked)]
    expect.silent(submission.attention, reference.attention, cases)


@KATA.follow_up
def refuses_misfits(submission: Submission, reference: Any, rng: Rng) -> None:
    """a batch, a width, a length or a mask that does not fit raises ValueError"""
    q, k, v = case(rng, 2, 3, 4, 5, 2)
    cases = [(q, k[:, :, :4], v), (q[..., :1], k, v), (q[:1], k, v), (q[0], k[0], v[0])]
    expect.refuses(submission.attention, [*cases, *((q, k, v, np.zeros(s, bool)) for s in ((4, 4), (3, 2, 3, 4, 5)))])


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    cases = [case(rng, 2, 3, 4, 5, 2), case(rng, 2, 3, 4, 5, 2, 4, 5)]
    expect.keeps_float32(submission.attention, reference.attention, cases)


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays in another memory layout work as well"""
    args = case(rng, 2, 3, 4, 5, 2, 2, 1, 4, 5)
    cases = [expect.strided(args), (*(np.swapaxes(a.swapaxes(1, 2).copy(), 1, 2) for a in args[:3]), args[3])]
    expect.agrees(submission.attention, reference.attention, cases)


SCORES, MIX = "scores = q @ k.swapaxes(-1, -2) / dh**0.5", "weights @ v"
SOFTMAX, RETURN = "weights = softmax(scores)", "return output, weights"

families.scores(KATA, *masks.ALL_OVER_QUERIES, width="(q.shape[1] * dh)")
masks.blocked(KATA)
name, look = KATA.mistake, "which of q, k and v meets which"
says = "the scores are divided by the root of the number of keys instead of the width of a head"
name("scale_by_length", says, ("/ dh**0.5", "/ k.shape[2] ** 0.5"), look="the axis that dh is read from")
says = "the values are never mixed: the weights are applied to the keys"
hint = "Multiply v by 10, and nothing else: what must happen to the output?"
name("keys_mixed", says, (MIX, "weights @ k"), look=look, hint=hint)
says = "keys and values are exchanged: the queries are compared with v, and k is what they fetch"
both = (("q @ k", "q @ v"), (MIX, "weights @ k"))
hint = "One of the two decides where to look, the other what is brought back: which one meets the query?"
name("kv_swapped", says, both, look=look, hint=hint)
says = "the queries are compared with the values, not with the keys"
name("values_scored", says, ("q @ k", "q @ v"), look=look)
says = "queries and keys are exchanged: the scores are k q^T, so their rows belong to the keys"
name("qk_swapped", says, ("q @ k.swapaxes", "k @ q.swapaxes"), look="which axis of the scores is the query's")
says = "the keys are reshaped to (dh, S), not transposed: their numbers are read in another order"
form = ("k.swapaxes(-1, -2)", "k.reshape(*k.shape[:2], dh, k.shape[2])")
name("keys_reshaped", says, form, look="a reshape where a transpose is meant")
says = "the softmax runs over the queries and keys together: all weights of a head sum to 1"
form = (SOFTMAX, "weights = softmax(scores.reshape(*scores.shape[:2], 1, -1)).reshape(scores.shape)")
name("softmax_over_both", says, form, look="the axis of the softmax")
says = "there is no softmax: the scores themselves are used as weights"
hint = "Add up the weights of one query. What should the sum be, and may one of them be negative?"
name("softmax_missing", says, (SOFTMAX, "weights = scores"), look="between scores and output", hint=hint)
says = "the exponentials are not divided by their sum, so the weights of a query do not sum to 1"
form = ("weights / np.where(total == 0, 1, total)", "weights")
name("not_normalised", says, form, look="the last line of the softmax")
says = "an epsilon is added to the denominator of the softmax, so the weights sum to less than 1"
forms = [("np.where(total == 0, 1, total)", f"(total + {e})") for e in ("1e-5", "1e-6", "1e-7")]
name("epsilon_in_denominator", says, *forms, look="the denominator of the softmax")
says = "the scores are returned beside the output, not the weights"
name("scores_returned", says, (RETURN, "return output, scores"), look="what is returned second")
says = "the weights come first and the output second"
name("parts_swapped", says, (RETURN, "return weights, output"), look="the order of what is returned")
says = "the queries are scaled in place, which overwrites the caller's q"
form = (SCORES, "q /= dh**0.5\n    scores = q @ k.swapaxes(-1, -2)")
name("input_modified", says, form, look="/= or *= on an array that was passed in")
says = "a query with every key blocked spreads its weights over blocked keys: the fill is finite"
low = "scores = np.where(blocked, np.finfo(scores.dtype).min, scores)"
forms = [(masks.HIDE, line) for line in (masks.LOW, masks.ADDED, low)]
look = "what the softmax of a row of large negative numbers is"
name("uniform_over_blocked", says, *forms, look=look, level="follow-up")
says = "a query with every key blocked gives NaN: the softmax of -inf alone is 0/0"
name("nan_where_all_blocked", says, masks.NAN, look="the peak of a row of -inf", level="follow-up")
says = "the maximum is not subtracted before exp, so scores of 1e3 overflow"
form = ("np.exp(scores - peak)", "np.exp(scores)")
name("no_max_subtracted", says, form, look="the softmax", level="follow-up")
says = "a mask that does not broadcast to the scores is not refused"
families.guard(
    KATA,
    "mask_not_refused",
    says,
    "blocked is not None and np.broadcast_shapes(blocked.shape, shape) != shape",
    "refuses_misfits",
)
families.memory_order(KATA, "check_shapes(q, k, v, blocked)", "q")

KATA.hint(
    "Each query asks every key one question and gets one number back. What then makes shares of these numbers, and "
    "what is shared out?",
    "The scores are one matrix for each head, queries down and keys across. Scale them, take out what must not be "
    "seen, and make each row sum to 1; then each row says how to mix the values.",
    "Multiply the queries by the transposed keys, only the last two axes turned; divide by the root of the width of a "
    "head; put minus infinity where the mask is True; take the softmax along the keys; multiply by the values. Hand "
    "back both. A row that is blocked throughout needs care: it has no maximum to subtract.",
)
KATA.shape(q="(B, H, T, dh)", k="(B, H, S, dh)", v="(B, H, S, dh)", scores="(B, H, T, S)")
KATA.shape(weights="(B, H, T, S)", output="(B, H, T, dh)")
KATA.term(
    "shape of the mask",
    "What shape does the mask have: one for all heads and sequences, or one for each?",
    "Anything that broadcasts to (B, H, T, S), such as (T, S) or (B, 1, 1, S).",
    (
        r"\bshape\b",
        r"\bbroadcast\w*",
        r"\b(t, ?s|b, ?1, ?1, ?s)\b",
        r"\b(per|each|every|all|one for) (the )?(heads?|seq)",
    ),
    (UNLESS + r"\b(always|only) (\(?t, ?[ts]\)?|2-?d|two|one mask)\b",),
)
KATA.term(
    "queries with everything blocked",
    "Can a query have every key blocked, and what should it get then?",
    "It can, as a follow-up: zero weights and a zero output, without NaN or a warning.",
    (
        r"\b(all|every\w*|whol|entire|fully|complete)\w*\b.*\b(mask|block|padd)",
        r"\bnans?\b",
        r"\bempty\b|\bnothing\b|\bzeros?\b",
    ),
    (
        r"\b(stays?|gives?|is|returns?|be) (uniform|nan)\b",
        r"\bat least one\b[^.;]*\b(open|visible|always)|\bnever all\b",
    ),
)
KATA.term(
    "causal or not",
    "Is the attention causal by itself, or is the mask that I get the only one?",
    "The mask that is passed in is the only one: without it every query sees every key.",
    (r"\bcausal", r"\bfuture\b|\blater\b|\bpast\b", r"\bby itself\b|\bbuilt in\b", r"\bdefault\b", r"\bdirection"),
    (UNLESS + r"\b(is|always|assume|make it|stays?) causal|" + UNLESS + r"\bbuild (the|a) causal",),
)
facts.lengths(KATA)
KATA.fact(
    "projections",
    "Do I project x to queries, keys and values, and the output back?",
    "No projections: q, k and v are ready, with their heads split, and the output stays split.",
    (r"\bproject", r"\bw_?[qkvo]\b", r"\b(split|merge)\w*\b", r"\balready\b.*\bheads?|\bheads?\b.*\b(already|myself)"),
)
KATA.term(
    "scale",
    "Do I scale the scores here, and by which width, or are the queries scaled already?",
    "Here: by one over the root of dh, the width of a head.",
    (r"\bscal(e|ed|ing)\b", r"\bsqrt|\broot\b", r"\bdh\b|\bd_?(head|k)\b|\bwidth\b", r"\btemperature\b"),
    (UNLESS + r"\b(sqrt\(d\)|root of d\b|already scaled|unscaled|d_model)",),
)
KATA.term(
    "what comes back",
    "Do I return the weights as well, and for each head, or their mean?",
    "Both: the output first, then the weights of every head as they are.",
    (
        r"\breturn",
        r"\bweights\b.*\b(as well|too|also|mean|averaged?)\b",
        r"\b(mean|average)\b.*\bheads?\b",
        r"\btuple\b",
    ),
    (UNLESS + r"\b(return|give)s? (only|just) the output|" + UNLESS + r"\b(mean|averaged?) over the heads",),
)
KATA.question(
    "What should a query with everything blocked get, and what do libraries give?",
    "Zeros: it has found nothing. A softmax over -inf alone is 0/0, so a plain one gives NaN, and NaN times 0 is "
    "still NaN: it spreads through every later sum and gradient. With a finite fill the row comes out uniform over "
    "keys that it must not see. In torch the plain softmax gives NaN, and the fused attention has changed between "
    "versions: so mask such rows yourself.",
)
KATA.question(
    "What does it cost, and what does flash attention change?",
    "Two products of T S dh multiply-adds for each head, so B T S d each, and B H T S numbers for the scores. The "
    "time is rarely the trouble: reading and writing the (T, S) matrix is. Flash attention works through blocks of "
    "keys with a running maximum and sum, and never stores it: the same numbers and more arithmetic, but memory "
    "linear in S.",
)
KATA.question(
    "Why a softmax, and not the scores divided by their sum?",
    "Scores may be negative, and then shares by division make no sense. The exponential makes each positive, keeps "
    "their order, and depends on differences alone, so a constant added to all does nothing. It is smooth, and lets a "
    "score that is 5 larger win by a factor of 150, so attention can be sharp. The log of the weights is linear in "
    "the scores.",
)
KATA.question(
    "Attention does not know the order of the keys. How would you show that, and what follows?",
    "Permute keys, values and the key axis of the mask together: the output is the same, since it is a sum over keys. "
    "Permute the queries, and the rows of the output follow. So without positions a model sees a set of tokens, apart "
    "from what a causal mask tells. Order must come in through embeddings, rotations of q and k, or a bias on the "
    "scores.",
)
