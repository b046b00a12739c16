"""Causal mask: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids
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
def last_row(submission: Submission, reference: Any, rng: Rng) -> None:
    """the last position sees every position"""
    for call, answer in submission.causal_mask.each((n,) for n in (1, 2, 3, 7)):
        mask = expect.returned(call, answer, reference.causal_mask(*call.args))
        if mask[-1].any():
            j = int(mask[-1].argmax())
            says = f"causal_mask({len(mask)})[{len(mask) - 1}, {j}] is True: the last position does not see key {j}"
            raise Wrong(says, call=call, answer=answer)


@KATA.core
def whole_matrix(submission: Submission, reference: Any, rng: Rng) -> None:
    """[i, j] is True exactly where j > i, at every length"""
    drawn = int(rng.integers(14, 40))
    expect.agrees(submission.causal_mask, reference.causal_mask, [(n,) for n in (*LENGTHS, drawn)])


@KATA.core
def repeatable(submission: Submission, reference: Any, rng: Rng) -> None:
    """the same call gives the same answer, also the fifth time and after other lengths"""
    expect.agrees(submission.causal_mask, reference.causal_mask, [(n,) for n in (6, 3, 6, 9, 6, 3, 6)])
    expect.repeats(submission.causal_mask, reference.causal_mask, (6,))


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
)
KATA.mistake(
    "inverted_polarity",
    "the polarity is inverted: True marks what may be seen, so query i is left with the future alone",
    (CUT, "np.tril(blocked)"),
    look="what True means here: blocked. Negate the mask",
    kind="convention",
)
KATA.mistake(
    "diagonal_blocked",
    "the diagonal is blocked, so a position cannot see itself: off by one, or direction and polarity both flipped",
    ("k=1", "k=0"),
    look="the k of triu, or > against >=",
)
KATA.mistake(
    "one_future_key_leaks",
    "one future key leaks: query i sees key i + 1, the very token that it should predict",
    ("k=1", "k=2"),
    look="the k of triu: 1 is the first diagonal above the main one",
)
KATA.mistake(
    "nothing_blocked",
    "nothing is blocked: every query sees the whole future",
    (CUT, "np.zeros_like(blocked)"),
    look="whether the triangle is ever cut out",
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
)
KATA.mistake(
    "extra_axes",
    "the mask has axes for batch and heads already, instead of being (T, T)",
    (FULL, FULL.replace("((", "((1, 1, ")),
    (FULL, FULL.replace("((", "((1, ")),
    look="the rank of what is returned: 2. Broadcasting is the caller's business",
    kind="convention",
)
KATA.mistake(
    "number_instead_of_bool",
    "the mask holds numbers 0 and 1 instead of bool: `~mask` and `np.where` would not do what they should",
    *(("dtype=bool", f"dtype={number}") for number in NUMBERS),
    look="the dtype: dtype=bool, or astype(bool)",
)
KATA.mistake(
    "additive_mask",
    "the mask is additive, 0 and -inf to be added to the scores, instead of bool",
    *((FULL, f"np.full((length, length), {fill})") for fill in FILLS),
    look="return the boolean itself; the -inf is the caller's business",
    kind="convention",
)
