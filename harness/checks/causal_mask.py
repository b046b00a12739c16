"""Causal mask: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, families, grids
from harness.families import UNLESS
from harness.influence import reading
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.probe import Rng
from harness.wire import Array

KATA = Kata(track=1, minutes=5, functions=("causal_mask",))
LENGTHS = (1, 2, 3, 4, 5, 8, 13, 65, 300)


def sees(mask: Array) -> Array | None:
    """Who sees whom in a mask of any dtype or leading axes of 1; None when it is no square matrix."""
    square = np.squeeze(mask)
    return square == 0 if square.ndim == 2 and square.shape[0] == square.shape[1] else None


def additive(mask: Any) -> bool:
    """Whether a mask holds 0 and large negative numbers, whichever way round."""
    if not isinstance(mask, np.ndarray) or mask.dtype.kind not in "if" or mask.ndim != 2:
        return False
    return bool((mask < -100).any() and ((mask == 0) | (mask < -100)).all())


@KATA.core
def direction(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask hides the future, not the past"""
    call, answer = next(iter(submission.causal_mask.each([(4,)])))
    if isinstance(answer.value, np.ndarray) and (map_ := sees(answer.value)) is not None and len(map_) == 4:
        read = reading(map_)
        if read.direction == "reversed":
            grid = grids.influence(map_, ~reference.causal_mask(4), "query", "key")
            raise Wrong(f"causal_mask(4) is {read.words}", grid, call=call, answer=answer, mistake="reversed_mask")


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the mask is a (T, T) array of bool"""
    for call, answer in submission.causal_mask.each((n,) for n in (3, 1, 7)):
        if additive(answer.value):
            says = f"causal_mask({call.args[0]}) has dtype {answer.value.dtype}, should be bool: it is an additive mask"
            raise Wrong(says, "\n".join(grids.table(answer.value)), call=call, answer=answer, mistake="additive_mask")
        expect.returned(call, answer, reference.causal_mask(*call.args))


@KATA.core
def itself(submission: Submission, reference: Any, rng: Rng) -> None:
    """a position sees itself"""
    for call, answer in submission.causal_mask.each((n,) for n in (1, 2, 3, 7)):
        mask = expect.returned(call, answer, reference.causal_mask(*call.args))
        if mask.diagonal().any():
            i = int(mask.diagonal().argmax())
            grid = grids.influence(~mask, ~reference.causal_mask(len(mask)), "query", "key")
            says = f"causal_mask({len(mask)})[{i}, {i}] is True: position {i} cannot see itself"
            raise Wrong(says, grid, call=call, answer=answer)


@KATA.core
def whole_matrix(submission: Submission, reference: Any, rng: Rng) -> None:
    """[i, j] is True exactly where j > i, at every length, also when it is asked for again"""
    drawn = int(rng.integers(14, 40))
    expect.agrees(submission.causal_mask, reference.causal_mask, [(n,) for n in (*LENGTHS, drawn, 5, 3, 5, 5, 5, 5)])


@KATA.follow_up
def refuses_short(submission: Submission, reference: Any, rng: Rng) -> None:
    """a length below 1 raises ValueError"""
    expect.refuses(submission.causal_mask, [(0,), (-1,)])


@KATA.follow_up
def refuses_fractions(submission: Submission, reference: Any, rng: Rng) -> None:
    """a length that is not an integer raises ValueError"""
    expect.refuses(submission.causal_mask, [(2.5,), (3.0,), ("3",)])


@KATA.follow_up
def numpy_integers(submission: Submission, reference: Any, rng: Rng) -> None:
    """an integer of NumPy's, such as an entry of x.shape kept in an array, is a length too"""
    expect.agrees(submission.causal_mask, reference.causal_mask, [(np.int64(3),), (np.int32(4),)])


FULL = "np.ones((length, length), dtype=bool)"
CUT = "np.triu(blocked, k=1)"
NUMBERS = ("float", "int", "np.float32", "np.int32", "np.int8", "np.uint8")
FILLS = ("-np.inf", "-1e9", "np.finfo(float).min", "np.float32(-np.inf)")

KATA.mistake(
    "reversed_mask",
    "the mask direction is reversed: query i sees only keys j >= i, so it is kept from its own past",
    (CUT, "np.tril(blocked, k=-1)"),
    look="triu or tril, or the two sides of the comparison",
    hint="Say aloud what row 0 of your mask lets the first token see, when nothing but itself has been read.",
)
KATA.mistake(
    "inverted_polarity",
    "the polarity is inverted: True marks what may be seen, so query i is left with the future alone",
    (CUT, "np.tril(blocked)"),
    look="what True means here: blocked. Negate the mask",
    kind="convention",
    hint="Write out the last row for three tokens: it may see everything, so how many entries of it are True?",
)
KATA.mistake(
    "diagonal_blocked",
    "the diagonal is blocked, so a position cannot see itself: off by one, or direction and polarity both flipped",
    ("k=1", "k=0"),
    look="the k of triu, or > against >=",
    hint="Take a single token: what is left for it to attend to under your mask?",
)
KATA.mistake(
    "one_future_key_leaks",
    "one future key leaks: query i sees key i + 1, the very token that it should predict",
    ("k=1", "k=2"),
    look="the k of triu: 1 is the first diagonal above the main one",
    hint="Row 0 must predict token 1. Look along row 0: which entries are open, and is the answer one of them?",
)
KATA.mistake(
    "nothing_blocked",
    "nothing is blocked: every query sees the whole future",
    (CUT, "np.zeros_like(blocked)"),
    look="whether the triangle is ever cut out",
    hint="Count the entries that should be True for T = 3, then those that are.",
)
KATA.mistake(
    "everything_blocked",
    "everything is blocked: no query sees any key",
    (CUT, "blocked"),
    look="whether the triangle is ever cut out",
)
KATA.mistake(
    "upside_down",
    "the rows (or the columns) run backwards, so the triangle stands in the wrong corner",
    (CUT, "np.triu(blocked, k=1)[::-1]"),
    (CUT, "np.triu(blocked, k=1)[:, ::-1]"),
    look="every flip, and every step of -1",
    hint="The first row is the one with the most blocked keys. Is it so in yours?",
)
KATA.mistake(
    "extra_axes",
    "the mask has axes for batch and heads already, instead of being (T, T)",
    (FULL, FULL.replace("((", "((1, 1, ")),
    (FULL, FULL.replace("((", "((1, ")),
    look="the rank of what is returned: 2. Broadcasting is the caller's business",
    kind="convention",
    hint="Which axes does one sequence, without heads, have? Everything else can broadcast later.",
)
KATA.mistake(
    "number_instead_of_bool",
    "the mask holds numbers 0 and 1 instead of bool: `~mask` and `np.where` would not do what they should",
    *(("dtype=bool", f"dtype={number}") for number in NUMBERS),
    look="the dtype: dtype=bool, or astype(bool)",
    hint="Try by hand what the tilde does to the integer 1, and then to True.",
)
KATA.mistake(
    "additive_mask",
    "the mask is additive, 0 and -inf to be added to the scores, instead of bool",
    *((FULL, f"np.full((length, length), {fill})") for fill in FILLS),
    look="return the boolean itself; the -inf is the caller's business",
    kind="convention",
    hint="Ask what the caller will do with it: fill where it is True, or add it? Only one of them fits the prompt.",
)
says = "a length below 1 is not refused"
families.guard(KATA, "short_length_accepted", says, "length < 1", "refuses_short")
says = "a length that is no integer is not refused with a ValueError"
families.guard(KATA, "fraction_accepted", says, "not isinstance(length, int | np.integer)", "refuses_fractions")
says = "an integer of NumPy's is refused, though it is a length like any other"
form, look = ("int | np.integer", "int"), "what isinstance asks for"
KATA.mistake("numpy_integer_refused", says, form, look=look, level="follow-up", check="numpy_integers")

KATA.hint(
    "Draw it for three tokens: a row for every query, a column for every key, a cross wherever a query must not look.",
    "The crosses fill one corner. Which one, and does the diagonal belong to it? A position has read its own token.",
    "An entry depends on two numbers alone, its row and its column: it is blocked where the key comes later than the "
    "query. So either cut that triangle out of a matrix in which all is blocked, or compare a row of indices with a "
    "column of them, and let broadcasting make the square.",
)
KATA.shape(blocked="(T, T)")

WITH = r"((?!\b(not|never|nor|no|without|instead|rather|bool)\b)[^.;])*"  # as UNLESS, in the middle of a sentence
YES = r"true|ones|1|one(?= (is|means|for))"
FILLER = r"\W*((what|it|that|which|the|a|query|key|keys|positions?|entries|tokens?|can|may|to|be|is|are|we|i|one) )*"
KATA.term(
    "the diagonal",
    "Does a position see itself, or is the diagonal blocked too?",
    "It sees itself. Row i has read token i and predicts token i + 1, so the diagonal is open.",
    (
        r"\bdiag",
        r"\b(itself|oneself|themselves)\b",
        r"\bown (token|position|key)",
        r"\bstrict|\bfirst (row|token|query|position)\b",
        r"\bj ?[<>≤≥]=? ?i\b|\bi ?[<>≤≥]=? ?j\b",
    ),
    (
        r"\bdiagonal\W+(is|are|=|should be|will be|gets?)?\W*(also |too )?(true|blocked|masked|hidden|excluded)",
        r"(cannot|n't|not|never)\W+(see|look at|attend to)\W+(itself|themselves)",
        UNLESS + r"\b(block|mask|hid|exclud)\w* (out )?the diagonal",
        r"\bj ?(>=|≥) ?i\b",
    ),
)
KATA.term(
    "what True means",
    "Does True mean blocked, or may be seen?",
    "Blocked: the entry is True where the query must not look.",
    (
        r"\b(true|false|ones?|1|zeros?)\b\W+(to )?(mean|where|stand|mark|denot|say|signif|=|is\b|for\b)",
        r"\bmeans?\b[^.]*\b(true|false|1)\b|\b(true|false|1)\b[^.]*\bmean",
        r"\b(block|hid|mask)\w*( out)?\b[^.]*\bor\b[^.]*\b(see|visible|allow|keep|kept|attend|open)",
        r"\b(see|visible|allow|keep|kept|attend|open)\w*\b[^.]*\bor\b[^.]*\b(block|hid|mask)",
        r"\b(polarity|convention|inverted)\b|\b(upper|lower)\b|\btriang",
        r"\b(which|future|past|later|j ?[<>] ?i)\b.*\btrue\b|\btrue\b.*\b(future|past|later)\b",
    ),
    (
        rf"\b({YES})\b\W+(means?|is|=|for|marks?|where|says?|if)?{FILLER}(keep|kept|visible|allow|attend|see|look|open|past)",
        rf"\b(false|zeros?|0)\b\W+(means?|is|=|for|marks?|where)?{FILLER}(block|mask|hid|future)",
    ),
    ("inverted_polarity",),
)
KATA.term(
    "bool or additive",
    "Which dtype: a boolean mask, or an additive one of 0 and -inf?",
    "Boolean. The mask says where, and whoever holds the scores fills them.",
    (
        r"\bd-?types?\b|\bwhat type\b",
        r"\bbool",
        r"\badditive\b|\badd(ed|s)?\b",
        r"-\s?inf|\binfinit|-1e9",
        r"\bfloats?\b|\b0/1\b|\b(0s?|zeros?) (and|or) (1s?|ones?)\b|\bnumbers\b",
    ),
    (
        UNLESS + r"\badditive\b",
        rf"\b(assume|return|build|use|make|it is|mask is|dtype is)\b{WITH}(\bfloat|\bint(s|eger|\d+)?\b|-inf|\b0/1)",
    ),
    ("additive_mask",),
)
KATA.term(
    "axes for batch and heads",
    "Is the shape (T, T), or are there axes for batch and heads?",
    "(T, T), one sequence and no heads. The caller broadcasts it.",
    (
        r"\bshape\b",
        r"\bbatch",
        r"\bheads?\b",
        r"\b(axis|axes|dim(ension)?s?|rank)\b|\b[234]-?d\b",
        r"\bbroadcast",
        r"\(t, ?t\)|\bt ?x ?t\b",
    ),
    (
        rf"\b(assume|return|make|shape is)\b{WITH}\((1|b), ?(1, ?|h, ?)?t, ?t\)",
        rf"\b(assume|return|make|add|include)\b{WITH}\b(batch|head)s? (and heads? )?(axis|axes|dim)",
        UNLESS + r"\bmasks? (per|for (each|every)) (batch|head)",
    ),
    ("extra_axes",),
)
KATA.fact(
    "rows and columns",
    "Is a row a query or a key?",
    "A row for every query, a column for every key.",
    (r"\brows?\b.*\b(quer|key)", r"\bcolumns?\b.*\b(quer|key)", r"\b(quer|key)\w*\b.*\b(rows?|columns?)\b"),
)
KATA.fact(
    "type of the length",
    "May length be an integer of NumPy's?",
    "A plain int in the core. As a follow-up, an integer of NumPy's is a length too.",
    (r"\b(numpy|np)\b.*\bint\w*", r"\bint(eger)?\b.*\b(numpy|np)\b", r"\blength\b.*\bint"),
)
KATA.term(
    "lengths that make no sense",
    "What should happen for a length of 0, or for 2.5?",
    "The core first. As a follow-up, a length below 1 or one that is no integer raises ValueError.",
    (
        r"\blength\b[^.]*\b(0|zero|negative|less|below|2\.5|float|string)\b",
        r"\b(t|n|len\w*) ?(=+|is|of) ?(0|zero|-\d)|\b(zero|negative|empty|fraction\w*|non-?integer)\b",
        r"\b(rais\w+|errors?|exceptions?|valueerror|validat\w*|guards?|invalid|bad)\b",
        r"\b(positive|at least (1|one)|edge cases?)\b|\b(float|2\.5)\b.*\blength|\blength\b.*\b(float|2\.5)\b",
    ),
    (r"\b(0|zero)\b[^.;]*\b(gives?|returns?)\b[^.;]*\bempty", r"\bround(ed|s)?\b"),
)

KATA.question(
    "A text says that predicting token i uses the tokens 1 to i - 1. Why then does row i see itself?",
    "The two count differently. In the text, i is the token that is predicted; in the mask, it is the token that was "
    "read. Row i has read token i and predicts token i + 1, so token i is part of its past. Were the diagonal "
    "blocked, row 0 would see nothing at all and its softmax would be 0 / 0, and every other row would know its own "
    "token through the residual alone.",
)
KATA.question(
    "Which library means what by True in a mask, and how do you find out?",
    "In PyTorch, True blocks in nn.MultiheadAttention and keeps in scaled_dot_product_attention; Keras and Flax keep "
    "where it is true, and so does the 0/1 attention_mask of Hugging Face. A float mask of PyTorch's is added to the "
    "scores. Do not trust memory: change the last token of a short input. If the earlier outputs stay, the mask is "
    "the right way round.",
)
KATA.question(
    "What does 'strictly lower triangular' get wrong about a causal mask?",
    "Strictly means without the diagonal. What may be seen is lower triangular with the diagonal: a strict triangle "
    "lets no position see itself, and leaves row 0 empty. What is blocked is the complement, which is strictly upper "
    "triangular. So the word belongs to the blocked side, and the sentence needs to say which of the two it "
    "describes.",
)
KATA.question(
    "What is the mask of one new query against a cache of n keys, and of m new queries at once?",
    "One new query is the last position: it sees the n cached keys and its own, so its mask is (1, n + 1) and all "
    "False, or not needed at all. With m new queries it is (m, n + m): query i stands at position n + i, so key j is "
    "blocked where j > n + i. The triangle moves n columns to the right.",
)
KATA.question(
    "Does a causal mask save any work?",
    "Not by itself: all T² scores are computed, and almost half of them are thrown away. A kernel that works in "
    "blocks, such as FlashAttention, skips the blocks that lie wholly above the diagonal, which saves nearly half the "
    "time. What the mask does buy is training: one pass gives a prediction at every position, instead of T passes "
    "over T prefixes.",
)
