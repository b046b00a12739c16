"""Padding mask: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families, grids
from harness.families import MASK, TRIANGLE, UNLESS
from harness.influence import reading
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.probe import Rng
from harness.wire import Array

KATA = Kata(track=2, minutes=5, functions=("padding_mask", "decoder_mask"))
SMALL = np.array([[5, 7, 0], [6, 0, 0]])
PLACES = np.array([[9, 4, 2, 7, 1], [3, 9, 9, 9, 9], [9, 9, 8, 2, 9], [1, 9, 3, 9, 5]])  # none, right, both ends, amid
Case = tuple[Array, int]


def case(rng: Rng, B: int, S: int, pad_id: int) -> Case:
    """Ids of which about a third is padding, with at least one padding id and one token, and 0 among them."""
    ids = np.where(rng.random((B, S)) < 0.35, pad_id, rng.integers(0, 20, (B, S)))
    ids[0, -1], ids[-1, 0] = pad_id, pad_id + 1
    return ids, pad_id


def cases(rng: Rng) -> list[Case]:
    """The smallest first: padding left, right and amid, another in each row, none, and nothing else."""
    found = [(SMALL, 0), (PLACES, 9), (np.full((2, 3), 7), 7), (np.array([[4]]), 4), (np.array([[0, 3, 0, 1]]), 3)]
    found += [(np.array([[-1, 2], [0, -1]]), -1), (np.array([[3, 1, 2], [4, 5, 6]]), 0)]
    return [*found, case(rng, 3, 3, 2), case(rng, 5, 2, 50256), case(rng, 2, 70, 1)]


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """without any padding, decoder_mask hides the future, not the past"""
    [(call, answer)] = submission.decoder_mask.each([(np.array([[3, 1, 2, 4]]), 0)])
    got = answer.value
    if isinstance(got, np.ndarray) and np.squeeze(got).shape == (4, 4):
        read = reading(np.squeeze(got) == 0)
        if read.direction == "reversed":
            grid = grids.influence(np.squeeze(got) == 0, np.tri(4, dtype=bool), "query", "key")
            says = f"decoder_mask of 4 tokens without padding is {read.words}"
            raise Wrong(says, grid, call=call, answer=answer, mistake="reversed_mask")


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """padding_mask is (B, 1, 1, S), decoder_mask (B, 1, T, T), and both are bool"""
    for name in ("padding_mask", "decoder_mask"):
        for call, answer in getattr(submission, name).each([(SMALL, 0), case(rng, 3, 4, 2)]):
            got = answer.value
            if isinstance(got, np.ndarray) and got.dtype.kind == "f" and got.min(initial=0) < -100:
                says = f" has dtype {got.dtype}, should be bool: it is an additive mask"
                raise expect.wrong(call, answer, says, mistake="additive_mask")
            expect.returned(call, answer, getattr(reference, name)(*call.args))


@KATA.core
def padded_keys(submission: Submission, reference: Any, rng: Rng) -> None:
    """padding_mask is True where that row of ids holds the padding id, whichever id that is"""
    expect.agrees(submission.padding_mask, reference.padding_mask, cases(rng))


@KATA.core
def future_alone(submission: Submission, reference: Any, rng: Rng) -> None:
    """without padding, decoder_mask is the causal mask for every row of the batch"""
    plain = [(np.arange(1, 1 + B * T).reshape(B, T), 0) for B, T in ((1, 1), (1, 3), (2, 5))]
    expect.agrees(submission.decoder_mask, reference.decoder_mask, plain, "No id here is padding.")


@KATA.core
def padding_or_future(submission: Submission, reference: Any, rng: Rng) -> None:
    """decoder_mask is True where the key is padding or lies ahead, and padded queries keep their row"""
    expect.agrees(submission.decoder_mask, reference.decoder_mask, cases(rng))


@KATA.core
def inputs_untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """the ids are left as they were, and read-only ones do; five calls give the same answer"""
    expect.unchanged(submission.padding_mask, reference.padding_mask, [case(rng, 2, 4, 3)])
    expect.unchanged(submission.decoder_mask, reference.decoder_mask, [case(rng, 2, 4, 3)])


@KATA.follow_up
def refuses(submission: Submission, reference: Any, rng: Rng) -> None:
    """ids of a wrong rank, or that are no integers, raise ValueError"""
    bad = [SMALL[0], SMALL.astype(float), SMALL > 0]
    expect.refuses(submission.padding_mask, [(ids, 0) for ids in bad])
    expect.refuses(submission.decoder_mask, [(ids, 0) for ids in bad])


@KATA.follow_up
def layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """ids of another width or memory layout work as well"""
    ids, pad_id = case(rng, 3, 4, 2)
    alike = [(np.asfortranarray(ids), pad_id), (ids.astype(np.int32)[:, ::-1], np.int64(pad_id))]
    expect.agrees(submission.padding_mask, reference.padding_mask, alike)
    expect.agrees(submission.decoder_mask, reference.decoder_mask, alike)


EQUAL, AXES = "padding = ids == pad_id", "return padding[:, None, None, :]"
START, JOIN = "blocked = padding_mask(ids, pad_id)", "return blocked | future"
BOTH = "how padding and future are joined"

name = KATA.mistake
says = "the future part is reversed: query i sees only keys j >= i, so it is kept from its own past"
hint = "Take three tokens and no padding. How many keys does the first row of your decoder mask leave open?"
name("reversed_mask", says, (MASK, "np.tril(np.ones((T, T), dtype=bool), k=-1)"), look=TRIANGLE, hint=hint)
says = "the padding is inverted: the tokens are blocked and the padding is seen"
forms: list[Any] = [
    (EQUAL, "padding = ids != pad_id"),
    ((EQUAL, "padding = ids != pad_id"), (START, "blocked = ~padding_mask(ids, pad_id)")),
    (START, "blocked = ~padding_mask(ids, pad_id)"),
]
hint = "Take one sequence without padding: how many entries of its padding mask should be True?"
name("padding_inverted", says, *forms, look="== or !=, and what True means: blocked", hint=hint)
says = "the polarity is inverted: True marks what may be seen, in both masks"
forms = [((EQUAL, "padding = ids != pad_id"), (JOIN, "return blocked & ~future"))]
name("inverted_polarity", says, *forms, look="what True means here: blocked. Negate the masks", kind="convention")
says = "padding and future are joined by and: a key is blocked only if it is both"
hint = "A key is hidden for one reason or for the other. Must both hold?"
name("and_instead_of_or", says, (JOIN, "return blocked & future"), look=BOTH, hint=hint)
says = "padding and future are joined by exclusive or: padding that lies ahead can be seen"
forms = [(JOIN, "return blocked ^ future"), (JOIN, "return blocked != future")]
name("exactly_one", says, *forms, look=BOTH)
says = "decoder_mask blocks padding alone: every query sees the whole future"
hint = "Which mask has a sequence in which nothing is padding?"
name("future_missing", says, (JOIN, "return blocked | np.zeros_like(future)"), look=BOTH, hint=hint)
says = "decoder_mask blocks the future alone: padding is seen by the queries after it"
hint = "Put the padding on the left. What keeps the last query from looking at it?"
name("padding_missing", says, (JOIN, "return np.zeros_like(blocked) | future"), look=BOTH, hint=hint)
says = "rows are blocked as well as columns: a query that is padding sees nothing, and its softmax is 0 / 0"
look = "whether ids are laid along the queries too"
hint = "Follow the row of a padded query into the softmax: which entries are left to it?"
name("padded_queries_blocked", says, (JOIN, "return blocked | future | blocked.swapaxes(-1, -2)"), look=look, hint=hint)
says = "padding is laid along the queries, as rows, instead of along the keys, as columns"
forms = [
    (JOIN, "return blocked.swapaxes(-1, -2) | future"),
    ((AXES, "return padding[:, None, :, None]"), (START, "blocked = padding_mask(ids, pad_id)")),
]
hint = "Scores have queries down and keys across. Which of the two is it that must not be looked at?"
name("padding_on_queries", says, *forms, look="which of the last two axes holds the keys: the last one", hint=hint)
says = "the diagonal is blocked in decoder_mask, so a position cannot see itself"
hint = "Take a single token that is no padding: what is left for it to attend to?"
name("diagonal_blocked", says, ("k=1", "k=0"), look=TRIANGLE, hint=hint)
says = "one future key leaks: query i sees key i + 1, the very token that it should predict"
name("one_future_key_leaks", says, ("k=1", "k=2"), look=TRIANGLE)
says = "the padding id is built in as 0, whatever pad_id says"
hint = "GPT-2 pads with 50256, and 0 is its exclamation mark. Which tokens does your mask hide then?"
name("pad_id_hard_coded", says, (EQUAL, "padding = ids == 0"), look="whether pad_id is used", hint=hint)
says = "everything from the first padding id on is blocked: padding on the left hides the tokens after it"
look = "whether each id is compared by itself"
name("padding_from_first", says, (EQUAL, "padding = np.cumsum(ids == pad_id, axis=1) > 0"), look=look)
says = "ids are compared by order: every id up to pad_id counts as padding"
name("below_or_equal", says, (EQUAL, "padding = ids <= pad_id"), look="the comparison with pad_id: ==")
says = "the padding of batch row 0 is used for all rows"
forms = [(EQUAL, "padding = np.repeat(ids[:1] == pad_id, len(ids), axis=0)")]
name("first_row_for_all", says, *forms, look="an index [0], or a broadcast over the batch")
says = "the axis for heads is missing: (B, 1, S) and (B, T, T) would meet the heads with their batch axis"
hint = "Broadcasting aligns axes from the right. Which axis of the scores does your batch axis meet?"
name("axis_for_heads_missing", says, (AXES, "return padding[:, None, :]"), look="the rank of both masks: 4", hint=hint)
says = "padding_mask is (B, S), as a key_padding_mask, instead of (B, 1, 1, S)"
forms = [((AXES, "return padding"), (START, "blocked = padding_mask(ids, pad_id)[:, None, None, :]"))]
name("batch_row_mask", says, *forms, look="the rank of what is returned: 4", kind="convention")
says = "the masks hold numbers 0 and 1 instead of bool"
cast, numbers = f"{AXES}.astype(int)", "np.triu(np.ones((T, T)), k=1).astype(int)"
forms = [((AXES, cast.replace("int", kind)), (MASK, numbers.replace("int", kind))) for kind in ("int", "np.int8")]
forms.append(((AXES, f"{AXES} * 1.0"), (JOIN, "return np.maximum(blocked, future * 1.0)")))
name("number_instead_of_bool", says, *forms, look="the dtype: what == and np.triu of bool give is right as it is")
says = "the masks are additive, 0 and -inf to be added to the scores, instead of bool"
first, then = (
    "return np.where(padding[:, None, None, :], FILL, 0.0)",
    "np.minimum(blocked, np.where(future, FILL, 0.0))",
)
whole = ((AXES, first), (JOIN, f"return {then}"))
forms = [tuple((old, new.replace("FILL", fill)) for old, new in whole) for fill in ("-np.inf", "-1e9")]
look = "return the boolean itself; the -inf is the caller's business"
name("additive_mask", says, *forms, look=look, kind="convention")
says = "the ids are overwritten: they belong to the caller"
form = (EQUAL, "ids -= pad_id\n    padding = ids == 0")
name("input_modified", says, form, look="-=, out= or an assignment into ids")
families.memory_order(KATA, EQUAL, "padding")
says = "ids of a wrong rank, or that are no integers, are not refused"
unfit = "ids.ndim != 2 or not np.issubdtype(ids.dtype, np.integer)"
families.guard(KATA, "ids_not_refused", says, unfit, "refuses")

KATA.hint(
    "Say in words which entries are True: for one row of the batch, one query and one key.",
    "The first mask asks a single question of each key. Which axis of (B, H, T, S) is the key, and which axes must be "
    "there at length 1 so that it fits?",
    "Compare the ids with the padding id, and put two axes of length 1 between batch and keys. For the decoder, make "
    "the square that hides what lies ahead, and block where either of the two does; broadcasting joins a row of keys "
    "with a square of queries and keys.",
)
KATA.shape(padding="(B, T)", blocked="(B, 1, 1, T)", future="(T, T)")
KATA.term(
    "what True means",
    "Does True mean blocked, or may be seen?",
    "Blocked: True where the key must not be looked at.",
    (
        r"\b(true|false|ones?|1|zeros?)\b\W+(to )?(mean|stand|mark|denot|say|signif|=|is\b|for\b)",
        r"\bmeans?\b[^.]*\b(true|false|1)\b|\b(true|false|1)\b[^.]*\bmean",
        r"\b(block|hid|mask)\w*\b[^.]*\bor\b[^.]*\b(see|visible|allow|keep|kept|attend)",
        r"\b(polarity|convention|inverted)\b",
    ),
    (
        r"\b(true|ones?|1)\b\W+(means?|is|=|for|marks?|where)?\W*((a|the|it|real|may|can|be) )*"
        r"(keep|kept|see|token|visible|allow|attend)",
        r"\b(false|zeros?|0)\b\W+(means?|is|=|for|marks?|where)?\W*((a|the|it|is) )*(block|pad|mask|hid)",
    ),
    ("inverted_polarity",),
)
KATA.term(
    "shapes of the masks",
    "Which shapes: (B, S), or with axes for heads and queries?",
    "(B, 1, 1, S) and (B, 1, T, T): both broadcast against scores (B, H, T, S).",
    (
        r"\bshapes?\b",
        r"\b(axis|axes|dim(ension)?s?|rank)\b",
        r"\bbroadcast",
        r"\b\(?b, ?(1, ?)*[st]\b",
        r"\bheads?\b",
    ),
    (UNLESS + r"\b(return|give|shape is|make)\w*\b[^.;]*\(b, ?[st]\)",),
    ("batch_row_mask",),
)
KATA.term(
    "padded queries",
    "Is a query that is itself padding blocked as well?",
    "No: padding is blocked as a key only. What a padded query returns is not read by anybody.",
    (
        r"\bquer(y|ies)\b",
        r"\brows?\b[^.]*\bpad|\bpad\w*\b[^.]*\brows?\b",
        r"\b(both|also|as well)\b",
        r"\bpad\w*\b[^.]*\bitself\b|\bitself\b[^.]*\bpad",
    ),
    (
        UNLESS + r"\b(block|mask|hid)\w* (the )?(padded )?quer(y|ies)\b",
        UNLESS + r"\bquer(y|ies)\b[^.;]*\b(are|is|be|gets?) (also |too )?(block|mask|hid)",
    ),
)
KATA.term(
    "bool or additive",
    "Which dtype: a boolean mask, or an additive one of 0 and -inf?",
    "Boolean. Whoever holds the scores fills them.",
    (
        r"\bd-?types?\b",
        r"\bbool",
        r"\badditive\b|\badd(ed|s)?\b",
        r"-\s?inf|\binfinit|-1e9",
        r"\bfloats?\b|\b0/1\b|\bnumbers\b",
    ),
    (UNLESS + r"\badditive\b", UNLESS + r"\b(return|use|make|build)\b[^.;]*(\bfloat|\bint(s|eger|\d+)?\b|-inf)"),
    ("additive_mask",),
)
KATA.term(
    "the padding id",
    "Is the padding id always 0, and where does the padding stand: left, right, anywhere?",
    "Any id, as passed in, and anywhere: compare each id by itself.",
    (
        r"\bpad(ding)? ?_?id\b",
        r"\b(left|right)\b|\banywhere\b|\bwhere\b[^.]*\bpadding\b",
        r"\balways (0|zero)\b|\b(id|token) (0|zero)\b",
        r"\b50256\b|\beos\b",
    ),
    (UNLESS + r"\b(always|only) (0|zero|on the (right|left)|at the (end|start))\b",),
)
KATA.question(
    "Two masks in a decoder: which hides what, and where does each apply?",
    "Padding of the source, (B, 1, 1, S), applies in the encoder and in cross-attention: no query may read what is not "
    "there. Padding or future of the target, (B, 1, T, T), applies in self-attention. Exchanged, they may still fit "
    "when S = T, and then cross-attention is blind to later source tokens, while the target sees its own future.",
)
KATA.question(
    "With padding on the right, does a causal decoder need the padding part at all?",
    "Not for its tokens: padding lies ahead of them, so the causal mask hides it already. Only padded queries would "
    "see it, and nobody reads those; the loss must skip them. With padding on the left it is needed, and positions "
    "must be shifted as well. A mask that covers both is safe either way.",
)
KATA.question(
    "A padded query on the left has nothing to see. What happens, and how do you keep it harmless?",
    "Its row is blocked throughout, so a softmax over -inf gives 0 / 0 = NaN. The NaN sits in a position that nobody "
    "reads, until it meets a sum over positions, or 0 times NaN in the next layer's values. So let such a row give "
    "zeros, fill with a finite number, or leave its own key open.",
)
KATA.question(
    "Why is the padding id often taken to be the end-of-text id, and what goes wrong then?",
    "GPT-2 has no padding token, so its end-of-text token is used. Comparing ids then also hides true ends of text; "
    "a loss that skips the padding id never teaches the model to stop. Pass the lengths, or a mask, beside the ids "
    "instead of finding padding by its id.",
)
