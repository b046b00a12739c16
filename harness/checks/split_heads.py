"""Split and merge heads: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids, probe
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.moves import moves
from harness.probe import Rng
from harness.wire import Array

KATA = Kata(track=1, minutes=8, functions=("split_heads", "merge_heads"))


def numbered(*shape: int) -> Array:
    """The numbers 0, 1, 2, ... as floats: each entry tells where it came from."""
    return np.arange(float(np.prod(shape))).reshape(shape)


def gives_back(answers: Any, wants: list[Array], text: str) -> None:
    """A round trip ends where it began."""
    for (call, answer), want in zip(answers, wants, strict=True):
        got = expect.returned(call, answer, want)
        wrong = expect.differs(got, want)
        if wrong.any():
            index = tuple(int(n) for n in np.argwhere(wrong)[0])
            is_, should = grids.pair(got[index], want[index])
            says = f"{text}{list(index)} is {is_}, should be x again: {should}"
            raise Wrong(says, *[grid for grid in [grids.compared(got, want, wrong)] if grid], call=call, answer=answer)


@KATA.core
def split_shape(submission: Submission, reference: Any, rng: Rng) -> None:
    """split_heads gives (B, H, T, dh)"""
    for call, answer in submission.split_heads.each([(numbered(2, 3, 20), 4), (numbered(1, 2, 3), 1)]):
        expect.returned(call, answer, reference.split_heads(*call.args))


@KATA.core
def tokens_stay_apart(submission: Submission, reference: Any, rng: Rng) -> None:
    """token t of every head comes from token t of x, and from no other"""
    x = probe.normal(rng, 2, 4, 6)
    found = moves(submission.split_heads, reference.split_heads, (x, 2), 0, rng, over=(0, 1, 3))
    found.should_be(np.eye(4, dtype=bool), "output token", "input token")


@KATA.core
def head_features(submission: Submission, reference: Any, rng: Rng) -> None:
    """head h holds its own block of the features of every token, in order"""
    cases = [
        (numbered(1, 2, 4), 2),
        (probe.normal(rng, 2, 3, 20), 4),
        (probe.normal(rng, 3, 2, 6), 6),
        (probe.normal(rng, 3, 4, 5), 1),
        (probe.normal(rng, 1, 1, 6), 2),
        (probe.normal(rng, 1, 70, 4), 2),
    ]
    expect.agrees(submission.split_heads, reference.split_heads, cases)


@KATA.core
def merge_shape(submission: Submission, reference: Any, rng: Rng) -> None:
    """merge_heads gives (B, T, d)"""
    [(call, answer)] = submission.merge_heads.each([(numbered(2, 4, 3, 5),)])
    expect.returned(call, answer, reference.merge_heads(*call.args))


@KATA.core
def heads_side_by_side(submission: Submission, reference: Any, rng: Rng) -> None:
    """merge_heads puts the heads of a token side by side, head 0 first"""
    x = probe.normal(rng, 2, 3, 4, 2)
    found = moves(submission.merge_heads, reference.merge_heads, (x,), 0, rng, over=(0, 1))
    found.should_be(np.arange(6)[:, None] // 2 == np.arange(3), "output feature", "input head")


@KATA.core
def round_trip(submission: Submission, reference: Any, rng: Rng) -> None:
    """merge_heads undoes split_heads, and split_heads undoes merge_heads"""
    xs, ys = [numbered(2, 3, 4)], [probe.normal(rng, 2, 5, 3, 4)]
    split = [answer.value for _, answer in submission.split_heads.each((x, 2) for x in xs)]
    merged = [answer.value for _, answer in submission.merge_heads.each((y,) for y in ys)]
    if all(isinstance(value, np.ndarray) for value in (*split, *merged)):
        gives_back(submission.merge_heads.each((s.copy("C"),) for s in split), xs, "merge_heads(split_heads(x, 2))")
        back = submission.split_heads.each((m.copy("C"), y.shape[1]) for m, y in zip(merged, ys, strict=True))
        gives_back(back, ys, "split_heads(merge_heads(x), H)")


@KATA.core
def merge_values(submission: Submission, reference: Any, rng: Rng) -> None:
    """feature f of a merged token is the f-th of its heads' features, one head after the other"""
    cases = [
        (numbered(1, 2, 2, 2),),
        (probe.normal(rng, 2, 4, 3, 5),),
        (probe.normal(rng, 3, 1, 2, 4),),
        (probe.normal(rng, 3, 4, 2, 1),),
        (probe.normal(rng, 1, 3, 1, 2),),
        (probe.normal(rng, 1, 2, 70, 2),),
    ]
    expect.agrees(submission.merge_heads, reference.merge_heads, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """what is passed in is not modified, and may be read-only"""
    expect.unchanged(submission.split_heads, reference.split_heads, [(numbered(1, 2, 4), 2)])
    expect.unchanged(submission.merge_heads, reference.merge_heads, [(numbered(1, 2, 2, 2),)])


@KATA.core
def repeatable(submission: Submission, reference: Any, rng: Rng) -> None:
    """the same call gives the same answer, also the fifth time"""
    expect.repeats(submission.split_heads, reference.split_heads, (probe.normal(rng, 2, 3, 8), 4))
    expect.repeats(submission.merge_heads, reference.merge_heads, (probe.normal(rng, 2, 4, 3, 2),))


@KATA.follow_up
def refuses_width(submission: Submission, reference: Any, rng: Rng) -> None:
    """a width that heads do not divide, or heads < 1, raises ValueError"""
    x = numbered(2, 3, 6)
    expect.refuses(submission.split_heads, [(x, 4), (x, 0), (x, -2)])


@KATA.follow_up
def refuses_rank(submission: Submission, reference: Any, rng: Rng) -> None:
    """an input of the wrong rank raises ValueError"""
    expect.refuses(submission.split_heads, [(numbered(3, 6), 2), (numbered(2, 2, 3, 6), 2)])
    expect.refuses(submission.merge_heads, [(numbered(2, 3, 6),), (numbered(1, 2, 2, 3, 6),)])


@KATA.follow_up
def other_layouts(submission: Submission, reference: Any, rng: Rng) -> None:
    """an input that is not C-contiguous, such as a transposed view, gives the same result"""
    hint = "This array is not C-contiguous: its memory is in another order than its indices."
    views = [(expect.strided(numbered(1, 2, 2, 3)),), (probe.normal(rng, 2, 3, 4, 5).transpose(0, 2, 1, 3),)]
    expect.agrees(submission.merge_heads, reference.merge_heads, views, hint)
    expect.agrees(submission.split_heads, reference.split_heads, [(probe.normal(rng, 6, 3, 2).T, 2)], hint)


@KATA.follow_up
def keeps_dtype(submission: Submission, reference: Any, rng: Rng) -> None:
    """float32 in gives float32 out, and whole numbers stay whole"""
    expect.keeps_float32(submission.split_heads, reference.split_heads, [(numbered(1, 2, 4), 2)])
    expect.keeps_float32(submission.merge_heads, reference.merge_heads, [(numbered(1, 2, 2, 2),)])
    count = 10**9 * np.arange(8)  # past what 8, 16 and 32 bits hold
    expect.agrees(submission.split_heads, reference.split_heads, [(count.reshape(1, 2, 4), 2)])
    expect.agrees(submission.merge_heads, reference.merge_heads, [(count.reshape(1, 2, 2, 2),)])


SPLIT = "x = x.reshape(B, T, heads, d // heads)"
TURN = "return x.transpose(0, 2, 1, 3)"
BACK = "x = x.transpose(0, 2, 1, 3)"
MERGE = "return x.reshape(B, T, H * dh)"
SHAPE = "B, H, T, dh = x.shape"

KATA.mistake(
    "reshape_without_transpose",
    "split_heads reshapes straight to (B, H, T, dh): every head gets pieces of several tokens, under the right shape",
    ((SPLIT, "x = x.reshape(B, heads, T, d // heads)"), (TURN, "return x")),
    look="the steps from (B, T, d): first (B, T, H, dh), then the two middle axes change places",
)
KATA.mistake(
    "merge_without_transpose",
    "merge_heads reshapes (B, H, T, dh) straight to (B, T, d): every token gets pieces of several tokens of one head",
    (BACK, "pass"),
    look="the order of the axes at the moment of the reshape",
)
KATA.mistake(
    "interleaved_features",
    "the features are dealt out like cards: head h holds h, h + H, h + 2H, ... instead of a block",
    ((SPLIT, "x = x.reshape(B, T, d // heads, heads)"), (TURN, "return x.transpose(0, 3, 1, 2)")),
    (BACK, "x = x.transpose(0, 2, 3, 1)"),
    (
        (SPLIT, "x = x.reshape(B, T, d // heads, heads)"),
        (TURN, "return x.transpose(0, 3, 1, 2)"),
        (BACK, "x = x.transpose(0, 2, 3, 1)"),
    ),
    look="which of H and dh comes first in the reshape",
)
KATA.mistake(
    "heads_after_tokens",
    "the axes are left as (B, T, H, dh): attention would run over the heads instead of the tokens",
    (TURN, "return x"),
    ((TURN, "return x"), (SHAPE, "B, T, H, dh = x.shape"), (BACK, "pass")),
    look="the order of the axes of what split_heads returns",
)
KATA.mistake(
    "heads_before_batch",
    "the heads stand in front of the batch: (H, B, T, dh) instead of (B, H, T, dh)",
    (TURN, "return x.transpose(2, 0, 1, 3)"),
    ((SHAPE, "H, B, T, dh = x.shape"), (BACK, "x = x.transpose(1, 2, 0, 3)")),
    (
        (TURN, "return x.transpose(2, 0, 1, 3)"),
        (SHAPE, "H, B, T, dh = x.shape"),
        (BACK, "x = x.transpose(1, 2, 0, 3)"),
    ),
    look="which axis comes first",
)
KATA.mistake(
    "heads_and_width_swapped",
    "H and dh are swapped: `heads` is used as the width of a head, so there are dh heads of width H",
    (SPLIT, "x = x.reshape(B, T, d // heads, heads)"),
    (TURN, "return x.transpose(0, 3, 1, 2)"),
    ((TURN, "return x.transpose(0, 3, 1, 2)"), (BACK, "x = x.transpose(0, 2, 3, 1)")),
    ((TURN, "return x.transpose(0, 2, 3, 1)"), (SHAPE, "B, H, dh, T = x.shape"), (BACK, "x = x.transpose(0, 3, 1, 2)")),
    look="which of the two numbers is the head's width",
)
KATA.mistake(
    "tokens_reversed",
    "the tokens come out in reverse order",
    (TURN, "return x.transpose(0, 2, 1, 3)[:, :, ::-1]"),
    (BACK, "x = x.transpose(0, 2, 1, 3)[:, ::-1]"),
    ((TURN, "return x.transpose(0, 2, 1, 3)[:, :, ::-1]"), (BACK, "x = x.transpose(0, 2, 1, 3)[:, ::-1]")),
    look="every step of -1, and every flip, on the token axis",
)
KATA.mistake(
    "heads_reversed",
    "the heads come out in reverse order",
    (TURN, "return x.transpose(0, 2, 1, 3)[:, ::-1]"),
    (BACK, "x = x.transpose(0, 2, 1, 3)[:, :, ::-1]"),
    ((TURN, "return x.transpose(0, 2, 1, 3)[:, ::-1]"), (BACK, "x = x.transpose(0, 2, 1, 3)[:, :, ::-1]")),
    look="every step of -1, and every flip, on the head axis",
)
KATA.mistake(
    "heads_folded_into_batch",
    "the heads are folded into the batch: (B * H, T, dh) instead of (B, H, T, dh)",
    (TURN, "return x.transpose(0, 2, 1, 3).reshape(B * heads, T, d // heads)"),
    (TURN, "return x.transpose(2, 0, 1, 3).reshape(B * heads, T, d // heads)"),
    look="the rank of what split_heads returns: 4",
    kind="convention",
)
KATA.mistake(
    "heads_not_joined",
    "merge_heads turns the axes back but does not join H and dh: (B, T, H, dh) instead of (B, T, d)",
    (MERGE, "return x"),
    look="the last step of merge_heads",
)
KATA.mistake(
    "float32_buffer",
    "the result is kept in a float32 buffer: half of the digits of a float64 input are gone",
    (TURN, "return x.transpose(0, 2, 1, 3).astype(np.float32)"),
    (MERGE, "return x.reshape(B, T, H * dh).astype(np.float32)"),
    (
        (TURN, "return x.transpose(0, 2, 1, 3).astype(np.float32)"),
        (MERGE, "return x.reshape(B, T, H * dh).astype(np.float32)"),
    ),
    (TURN, "return x.transpose(0, 2, 1, 3).astype(np.float32).astype(float)"),
    (MERGE, "return x.reshape(B, T, H * dh).astype(np.float32).astype(float)"),
    (
        (TURN, "return x.transpose(0, 2, 1, 3).astype(np.float32).astype(float)"),
        (MERGE, "return x.reshape(B, T, H * dh).astype(np.float32).astype(float)"),
    ),
    look="the dtype of every new array: that of x",
)
KATA.mistake(
    "memory_order",
    "merge_heads reads the memory as it lies instead of by index, which is wrong for a transposed view",
    (BACK, 'x = x.ravel(order="K").reshape(B, H, T, dh).transpose(0, 2, 1, 3)'),
    look="order=, strides and buffers: leave them to NumPy",
    level="follow-up",
)
KATA.mistake(
    "float64_buffer",
    "the result is kept in a float64 buffer whatever comes in: float32 and whole numbers are converted",
    (TURN, "return x.transpose(0, 2, 1, 3).astype(float)"),
    (MERGE, "return x.reshape(B, T, H * dh).astype(float)"),
    (
        (TURN, "return x.transpose(0, 2, 1, 3).astype(float)"),
        (MERGE, "return x.reshape(B, T, H * dh).astype(float)"),
    ),
    look="the dtype of every new array: that of x",
    level="follow-up",
)
