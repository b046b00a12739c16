"""Cross-attention: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families
from harness.families import OVER_QUERIES, UNLESS, facts
from harness.kata import Kata
from harness.model import Submission
from harness.moves import moves, stays
from harness.probe import Rng, normal, tokens, weights
from harness.wire import Array

KATA = Kata(track=1, minutes=15, functions=("cross_attention",))
Case = tuple[Any, ...]
NAMES = ("wq", "wk", "wv", "wo")
SIDES = "Output rows 0 to 3 are the first row of the batch, 4 to 7 the second, and so on."


def padding(B: int, S: int) -> Array:
    """Padding left, in the middle and right, one to S // 2 keys of it; every row keeps at least one key."""
    blocked = np.zeros((B, S), bool)
    for b in range(B if S > 1 else 0):
        count = 1 + b % max(1, S // 2)
        start = (0, max(1, (S - count) // 2), S - count)[b % 3]
        blocked[b, start : start + count] = True
    return blocked


def case(rng: Rng, B: int, T: int, S: int, H: int, dh: int, padded: bool = True) -> Case:
    """Rows of many means and spreads on both sides, so that a norm too few or too many shows."""
    d = H * dh
    memory = normal(rng, B, S, d, deviation=1.5) + normal(rng, B, S, 1)
    params = {name: weights(rng, d, d) for name in NAMES}
    return tokens(rng, B, T, d), memory, params, H, padding(B, S) if padded else None


def small() -> Case:
    """Two queries, three memory rows, whole numbers; the weights are the identity, but wv also adds a neighbour."""
    x = np.array([[[3.0, 1.0, 3.0, 1.0], [2.0, -2.0, -2.0, 2.0]]])
    memory = np.array([[[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 0.0, -1.0], [1.0, -1.0, 0.0, 0.0]]])
    return x, memory, dict.fromkeys(NAMES, np.eye(4)) | {"wv": np.eye(4) + np.eye(4, k=1)}, 2, None


@KATA.core
def returns_rows(submission: Submission, reference: Any, rng: Rng) -> None:
    """the answer is (B, T, d) and float, however long the memory is"""
    for call, answer in submission.cross_attention.each([case(rng, 2, 3, 5, 2, 3, padded=False)]):
        expect.returned(call, answer, call.args[0])


@KATA.core
def sees_all_memory(submission: Submission, reference: Any, rng: Rng) -> None:
    """without padding every query sees every memory row, the last one too"""
    found = moves(submission.cross_attention, reference.cross_attention, case(rng, 2, 4, 4, 2, 3, padded=False), 1, rng)
    found.should_be(np.ones((8, 4), bool), "output row", "memory row", SIDES)


@KATA.core
def rows_alone(submission: Submission, reference: Any, rng: Rng) -> None:
    """output row t depends on x row t alone"""
    args = case(rng, 2, 4, 5, 2, 3, padded=False)
    found = moves(submission.cross_attention, reference.cross_attention, args, 0, rng, over=(0, 2))
    found.should_be(np.eye(4, dtype=bool), "output row", "x row")


@KATA.core
def keeps_x(submission: Submission, reference: Any, rng: Rng) -> None:
    """x itself is part of the answer: with wo = 0 nothing else is left"""
    x, memory, params, heads, _ = small()
    args = (x, memory, params | {"wo": np.zeros((4, 4))}, heads, None)
    hint = "Here wo is all zeros, so the attention adds nothing."
    expect.agrees(submission.cross_attention, lambda *_: x, [args], hint)


@KATA.core
def weights_sum_to_one(submission: Submission, reference: Any, rng: Rng) -> None:
    """where the memory rows are all the same, every query fetches that row: its weights sum to 1"""
    x, memory, params, heads, _ = small()
    args = (x, np.tile(memory[:, :1], (1, 3, 1)), params, heads, None)
    hint = "The memory rows are all the same here, so weights that sum to 1 fetch that row, through wv and wo."
    expect.agrees(submission.cross_attention, reference.cross_attention, [args], hint)


@KATA.core
def padding_hides_its_rows(submission: Submission, reference: Any, rng: Rng) -> None:
    """padding hides exactly the memory rows that it marks, in each batch row its own"""
    args = case(rng, 3, 4, 4, 2, 3)
    found = moves(submission.cross_attention, reference.cross_attention, args, 1, rng)
    found.should_be(np.repeat(~args[4], 4, axis=0), "output row", "memory row", SIDES)


@KATA.core
def padded_values_never_matter(submission: Submission, reference: Any, rng: Rng) -> None:
    """padded memory never matters, however large it is"""
    x, memory, *rest, blocked = args = case(rng, 3, 6, 5, 2, 3)
    signs = np.sign(normal(rng, *memory.shape))
    filled = np.where(blocked[..., None], 1e6 * signs, memory)
    stays(submission.cross_attention, [args, (x, filled, *rest, blocked)], x, "padded memory is large")


@KATA.core
def order_of_memory(submission: Submission, reference: Any, rng: Rng) -> None:
    """permuting the memory together with its padding changes nothing"""
    x, memory, *rest, blocked = args = case(rng, 3, 4, 5, 2, 3)
    order = np.array([3, 4, 1, 0, 2])
    moved = (x, np.take(memory, order, axis=1), *rest, np.take(blocked, order, axis=1))
    stays(submission.cross_attention, [args, moved], x, f"the memory rows are put in the order {order}")


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the numbers are right: S below, equal to and above T, one row and many, one head and many, padding or none"""
    cases: list[Case] = [small(), (*small()[:4], np.array([[False, True, False]])), case(rng, 1, 1, 1, 1, 4)[:4]]
    cases += [case(rng, 3, 4, 4, 2, 5), case(rng, 2, 5, 3, 4, 3), case(rng, 2, 3, 7, 3, 2, padded=False)]
    cases += [case(rng, *sizes) for sizes in ((2, 4, 1, 2, 3), (2, 3, 4, 1, 5), (2, 3, 4, 6, 1), (2, 66, 70, 2, 3))]
    expect.agrees(submission.cross_attention, reference.cross_attention, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """nothing that is passed in is modified; five calls give the same answer"""
    expect.unchanged(
        submission.cross_attention, reference.cross_attention, [case(rng, 2, 3, 4, 2, 3, pad) for pad in (True, False)]
    )


@KATA.follow_up
def all_padding(submission: Submission, reference: Any, rng: Rng) -> None:
    """a batch row whose memory is all padding returns its x, without NaN or warning"""
    x, memory, params, heads, blocked = case(rng, 3, 4, 5, 2, 3)
    blocked[1] = True
    expect.silent(submission.cross_attention, reference.cross_attention, [(x, memory, params, heads, blocked)])


@KATA.follow_up
def refuses_misfits(submission: Submission, reference: Any, rng: Rng) -> None:
    """a batch, a width or a padding that does not fit raises ValueError"""
    x, memory, params, heads, blocked = case(rng, 2, 3, 4, 2, 3)
    memories = [memory[:1].copy(), memory[:, :, :4].copy()]
    cases = [(x, m, params, heads, None) for m in memories] + [(x[:1].copy(), memory, params, heads, None)]
    cases += [(x, memory, params, heads, blocked[:, :1].copy())]  # an axis of 1 would broadcast, on either side
    cases += [(x[:1].copy(), memory[:1].copy(), params, heads, blocked)]
    expect.refuses(submission.cross_attention, cases)


@KATA.follow_up
def float32(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out"""
    cases = [(normal(rng, 2, 3, 6), *case(rng, 2, 3, 4, 2, 3, padded)[1:]) for padded in (True, False)]
    expect.keeps_float32(submission.cross_attention, reference.cross_attention, cases)


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """arrays in another memory layout work as well"""
    expect.agrees(submission.cross_attention, reference.cross_attention, [expect.strided(case(rng, 2, 3, 4, 2, 3))])


HIDE = "scores = np.where(memory_padding[:, None, None, :], -np.inf, scores)"
SOFTMAX = "weights = softmax(scores)"
HIDE_AND_SOFTMAX = f"if memory_padding is not None:\n        {HIDE}\n    {SOFTMAX}"
NORM, KEYS, VALUES = "normed = layer_norm(x)", 'memory @ params["wk"]', 'memory @ params["wv"]'
ADDED = "scores = scores + memory_padding[:, None, None, :] * -1e9"
NAN = ("peak = np.where(peak == -np.inf, 0, peak)", "pass")
FILLED, TO_QUERIES = HIDE.replace("-np.inf", "-1e9"), ("[:, None, None, :]", "[:, None, :, None]")
AFTER = f"{SOFTMAX}\n    if memory_padding is not None:\n        "
BLOCKED = "blocked = np.triu(np.ones(scores.shape[-2:], bool), k=1)"
ANY = "blocked = blocked if memory_padding is None else blocked | memory_padding[:, None, None, :]"
EINSUM = ("weights @ v", 'np.einsum("bhts,bhsd->bhtd", weights, v)')  # broadcasts an axis of 1, unlike matmul

SOURCES = ("x", "normed", "layer_norm(x)", "layer_norm(memory)")  # what keys and values may be read from by mistake
BOTH = {s: ((KEYS, KEYS.replace("memory", s)), (VALUES, VALUES.replace("memory", s))) for s in SOURCES}

name = KATA.mistake
name(
    "causal_over_memory",
    "a causal mask lies over the memory: query t sees only memory rows up to t, but the whole source is known",
    (SOFTMAX, f"{BLOCKED}\n    scores = np.where(blocked, -np.inf, scores)\n    {SOFTMAX}"),
    (SOFTMAX, f"{BLOCKED}\n    scores = np.where(blocked, -1e9, scores)\n    {SOFTMAX}"),
    (HIDE_AND_SOFTMAX, f"{BLOCKED}\n    {ANY}\n    scores = np.where(blocked, -1e9, scores)\n    {SOFTMAX}"),
    (HIDE_AND_SOFTMAX, f"{BLOCKED}\n    {ANY}\n    scores = scores + blocked * -1e9\n    {SOFTMAX}"),
    ((HIDE, ADDED), (SOFTMAX, f"{BLOCKED}\n    scores = scores + blocked * -1e9\n    {SOFTMAX}")),
    (SOFTMAX, f"blocked = np.tri(x.shape[1]) == 0\n    scores = np.where(blocked, -np.inf, scores)\n    {SOFTMAX}"),
    look="which mask goes over (T, S) scores: padding alone",
    hint="What does a causal mask protect, and is the source sentence something that must not be known yet?",
)
says = "keys and values come from x, so this is self-attention: the memory is never read"
hint = "Change the memory alone: what in your result moves?"
name("self_attention", says, BOTH["x"], BOTH["normed"], look="what wk and wv are applied to", hint=hint)
says = "the queries come from the memory: it is the decoder's x that asks"
hint = "The result has one row for each token of the decoder: who must then be asking?"
forms = [(NORM, f"normed = {other}") for other in ("memory", "layer_norm(memory)")]
name("query_from_memory", says, *forms, look="what wq is applied to", hint=hint)
says = "the roles are exchanged: the memory asks and x answers"
both = [(form, *BOTH[other]) for other in ("x", "layer_norm(x)") for form in forms]
name("roles_exchanged", says, *both, look="which of x and memory gives the queries, and which the keys and values")
says = "the keys come from the memory but the values from x: what is found in the memory is not what is fetched"
fetched = [(VALUES, VALUES.replace("memory", other)) for other in ("x", "normed")]
name("values_from_x", says, *fetched, *((form, EINSUM) for form in fetched), look="what wv is applied to")
says = "the padding is ignored: padded memory gets its share of the weights"
form = ("if memory_padding is not None:", "if False:")
hint = "Put a huge number into a padded row of the memory: what should happen to the result?"
name("padding_ignored", says, form, look="whether memory_padding reaches the scores", hint=hint)
says = "the padding is inverted: the real memory is hidden and the padding is read, as if True meant keep"
form = (HIDE, HIDE.replace("memory_padding", "~memory_padding"))
look = "what True means here: padding, so blocked"
name("padding_inverted", says, form, (form, NAN), look=look, kind="convention")
says = "the padding is applied to the queries: it belongs to the S keys, the last axis of the scores"
forms = [(HIDE, line.replace(*TO_QUERIES)) for line in (HIDE, FILLED, ADDED)]
look = "the axes that are added to (B, S) to fit (B, H, T, S)"
hint = "Let S differ from T: along which axis of the scores does the padding still fit?"
name("padding_on_queries", says, *forms, look=look, hint=hint)
says = "the padding is applied after the softmax: padded keys have taken their share of the weights by then"
fills = [f"{AFTER}weights = np.where(memory_padding[:, None, None, :], {fill}, weights)" for fill in ("0", "-1e9")]
hint = "Add up the weights of one query over the real keys: is it still 1?"
name("padding_after_softmax", says, *((HIDE_AND_SOFTMAX, f) for f in fills), look="mask, then softmax", hint=hint)
says = "the padding of the first batch row is used for all of them"
form = (HIDE, HIDE.replace("[:, None, None, :]", "[0]"))
name("padding_of_row_zero", says, form, look="an index 0 on memory_padding, or a broadcast that loses the batch axis")
says = "the memory is normalised here too: the encoder has done that already"
normed = BOTH["layer_norm(memory)"]
name("memory_normalised", says, normed, *normed, look="what happens to memory before wk and wv")
says = "the layer norm of x is missing: the queries come from x as it is"
name("norm_missing", says, (NORM, "normed = x"), look="what happens to x before wq")
says = "the residual is missing: x itself must be added to what the attention found"
hint = "Let wo be all zeros, so that nothing is found: what should the decoder go on with?"
name("residual_missing", says, ("return x + projected", "return projected"), look="what is returned", hint=hint)
says = "the residual adds the normalised x: it must be x as it came in"
form = ("return x + projected", "return normed + projected")
name("residual_from_norm", says, form, look="which x is added: an x that was overwritten by its norm?")
says = "the residual is added in place, which overwrites the caller's x"
form = ("return x + projected", "x += projected\n    return x")
name("input_modified", says, form, look="+= on an array that was passed in")
says = "the padding's penalty is too small: a large score at a padded row of the memory outweighs it"
forms = [(HIDE, ADDED.replace("-1e9", fill)) for fill in ("-1e4", "-1e3")]
hint = "Which finite number is added to the scores of padding, and how large can a score be?"
name("penalty_too_small", says, *forms, look="the fill: -inf, or beyond every score", hint=hint)
says = "positions are added to the memory's keys: whatever order the source has is in the memory already"
form = (KEYS, KEYS.replace("memory", "(memory + np.sin(np.arange(1, memory.shape[1] + 1))[:, None])"))
name("positions_added", says, form, look="what wk is applied to")
says = "a batch row whose memory is all padding does not return its x: it gives NaN, or reads the padding"
look = "the softmax of a row with nothing to see"
name("all_padding_lost", says, NAN, (HIDE, FILLED), look=look, level="follow-up")
families.memory_order(KATA, f"variance = {families.VARIANCE}")
says = "a padding that does not fit the memory is not refused: one of a single row broadcasts, and nobody notices"
unfit = "memory_padding is not None and memory_padding.shape != memory.shape[:2]"
families.guard(KATA, "padding_not_refused", says, unfit, "refuses_misfits")
families.attention(KATA, (OVER_QUERIES, NAN), (OVER_QUERIES, (HIDE, FILLED)), (OVER_QUERIES, (HIDE, ADDED)))
families.heads(KATA)
facts.source(KATA)
families.layer_norm(KATA)

KATA.hint(
    "Two sequences meet here. Which one has the questions, and which one the answers? The result has one row for each "
    "token of x.",
    "It is self-attention with one change: keys and values are projected from the memory. The scores are then T by S, "
    "and nothing in them lies in the future; only padding may be hidden.",
    "Normalise x and project it to queries; project the memory as it is to keys and values; split all three into "
    "heads. Compare, scale, block the padded keys for every query and head, softmax along the S keys, mix the values, "
    "merge, project, and add the x that came in.",
)
KATA.shape(normed="(B, T, d)", q="(B, H, T, dh)", k="(B, H, S, dh)", v="(B, H, S, dh)", scores="(B, H, T, S)")
KATA.shape(weights="(B, H, T, S)", context="(B, T, d)", projected="(B, T, d)")
KATA.term(
    "memory that is all padding",
    "Can all of a row's memory be padding, and what should come back then?",
    "It can, as a follow-up: that batch row returns its x unchanged, without NaN or a warning.",
    (r"\b(all|every\w*|whol|entire|fully|complete)\w*\b.*\b(pad|mask|block)", r"\bnans?\b", r"\bempty\b|\bnothing\b"),
    (UNLESS + r"\b(always|at least) (one|a) (real|key|token|position)|\bnever (all|wholly|entirely) pad",),
)
KATA.term(
    "what True means",
    "Does True in memory_padding mark the padding, or the positions to keep?",
    "True is padding: blocked for every head and query of that batch row. None means that nothing is padded.",
    (
        r"\btrue\b|\bfalse\b",
        r"\bpolarity|\bmeans?\b|\bheads\b.*\b(mask|pad)",
        r"\b(keep|kept|visible)\b",
        r"\b(memory_)?pad",
    ),
    (
        r"\btrue\W+(means?|is|=|marks?|for)\W*(the |to )*(keep|kept|visible|allow|attend|see|real|valid)",
        r"\bfalse\W+(means?|is|=|marks?|for)\W*(the |to )*(pad|block|mask|hid|ignore)|\b0\W+(means?|is|=)\W*pad",
    ),
    ("padding_inverted",),
)
KATA.term(
    "who is normalised",
    "Is the memory normalised already, or do I normalise both x and memory here?",
    "The encoder has normalised the memory: use it as it is. Normalise x, for the queries alone.",
    (r"(\b|_)(norm|ln\b)", r"\bmemory\b.*norm|norm.*\bmemory\b", r"\b(pre|post)-?\W?(ln|norm)", r"\balready\b"),
    (
        UNLESS
        + r"((\b|_)(ln|norm(ali[sz]e)?)\W+(both )?(x and )?(the )?memory|\bnormali[sz]e both|\bpost-?\W?(ln|norm))",
    ),
)
KATA.term(
    "residual",
    "Is the residual part of this function, or does the caller add x?",
    "Part of it: return x, as it came in, plus the projected attention. The next sublayer takes it from there.",
    (r"\bresidual|\bskip\b", r"\badd(s|ed|ing)?\b.*\bx\b|\bx ?\+", r"\b(caller|outside)\b|\bonly the attention"),
    (r"\b(no|without) (a |the )?(residual|skip)|\bcaller adds\b|\bresidual\b.*\b(outside|elsewhere|later|caller)",),
)
KATA.term(
    "causal mask over the memory",
    "Is there a causal mask over the memory, or may every query see the whole source?",
    "Every query sees the whole source, except its padding: no causal mask here. That belongs to self-attention.",
    (r"\bcausal", r"\bmask\w*\b.*\bmemory", r"\b(whole|full) (source|memory)|\bfuture\b", r"\b(sees?|attends?)\b"),
    (UNLESS + r"(\bcausal(ly)? mask|\bmask\w* the future|\bis causal)",),
)
KATA.term(
    "sublayer or whole block",
    "Is this the whole encoder-decoder block, or its cross-attention alone, without encoder and self-attention?",
    "The cross-attention sublayer alone. Encoder, self-attention and feed-forward exist elsewhere.",
    (r"\bself-attention\b", r"\bfeed-?forward|\bffn\b", r"\bencoder\b", r"\b(whole|full|decoder) block|\bsub-?layer"),
    (UNLESS + r"\b(include|add|write|implement)\w* (the |a )?(self-attention|feed-?forward|ffn|encoder)",),
)
KATA.question(
    "A decoder with cross-attention has two masks: which hides what, and what are their shapes?",
    "In self-attention the causal mask hides later target tokens: (T, T), or (1, 1, T, T) to broadcast, or-ed with "
    "target padding where there is any. In cross-attention the padding mask hides what is no source token: (B, S), "
    "spread to (B, 1, 1, S) over heads and queries. The first follows from the task and is the same for all rows; the "
    "second is data.",
)
KATA.question(
    "What can be cached across decoding steps?",
    "The keys and values of the memory depend on no target token: project them once a layer, (B, H, S, dh) each, and "
    "keep them for every step. Self-attention caches its keys and values too, but these grow by one row a step. "
    "Queries need no cache, since only the newest token asks. The encoder itself runs once.",
)
KATA.question(
    "Decoder-only or encoder-decoder: when?",
    "Encoder-decoder suits a fixed source that is read whole, as in translation or speech: the encoder sees both ways "
    "and its output is computed once. Decoder-only treats source and target as one sequence: one kind of block and "
    "loss, every token a training signal, prompts and chats of any form, one cache. For general text generation that "
    "simplicity won; where input and output differ in kind, cross-attention is still common.",
)
