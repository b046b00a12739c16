"""Split and merge heads: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids, probe
from harness.families import UNLESS
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
    """what is passed in is not modified, and may be read-only; five calls give the same answer"""
    expect.unchanged(submission.split_heads, reference.split_heads, [(numbered(1, 2, 4), 2)])
    expect.unchanged(submission.merge_heads, reference.merge_heads, [(numbered(1, 2, 2, 2),)])


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

NARROW = [
    ((TURN, f"{TURN}.astype(np.float32){back}"), (MERGE, f"{MERGE}.astype(np.float32){back}"))
    for back in ("", ".astype(float)")
]
WIDE = (TURN, f"{TURN}.astype(float)"), (MERGE, f"{MERGE}.astype(float)")

name = KATA.mistake
name(
    "reshape_without_transpose",
    "split_heads reshapes straight to (B, H, T, dh): every head gets pieces of several tokens, under the right shape",
    ((SPLIT, "x = x.reshape(B, heads, T, d // heads)"), (TURN, "return x")),
    look="the steps from (B, T, d): first (B, T, H, dh), then the two middle axes change places",
    hint="Number the features of two tokens 0 to 7: which four should head 0 hold, and which does yours hold?",
)
name(
    "merge_without_transpose",
    "merge_heads reshapes (B, H, T, dh) straight to (B, T, d): every token gets pieces of several tokens of one head",
    (BACK, "pass"),
    look="the order of the axes at the moment of the reshape",
    hint="A reshape reads the numbers in order, last axis first: which number comes after the last feature of head 0?",
)
CARDS = (SPLIT, "x = x.reshape(B, T, d // heads, heads)"), (TURN, "return x.transpose(0, 3, 1, 2)")
name(
    "interleaved_features",
    "the features are dealt out like cards: head h holds h, h + H, h + 2H, ... instead of a block",
    CARDS,
    (BACK, "x = x.transpose(0, 2, 3, 1)"),
    (*CARDS, (BACK, "x = x.transpose(0, 2, 3, 1)")),
    look="which of H and dh comes first in the reshape",
    hint="Take one token with the features 0 to 5 and two heads: are the first three of them together in one head?",
)
name(
    "heads_after_tokens",
    "the axes are left as (B, T, H, dh): attention would run over the heads instead of the tokens",
    (TURN, "return x"),
    ((TURN, "return x"), (SHAPE, "B, T, H, dh = x.shape"), (BACK, "pass")),
    look="the order of the axes of what split_heads returns",
    hint="A matrix product works on the last two axes: which two should they be, so that tokens meet tokens?",
)
FRONT = (TURN, "return x.transpose(2, 0, 1, 3)")
BEHIND = (SHAPE, "H, B, T, dh = x.shape"), (BACK, "x = x.transpose(1, 2, 0, 3)")
name(
    "heads_before_batch",
    "the heads stand in front of the batch: (H, B, T, dh) instead of (B, H, T, dh)",
    FRONT,
    BEHIND,
    (FRONT, *BEHIND),
    look="which axis comes first",
    hint="Which axis should a caller index to get one sequence of the batch, with all of its heads?",
)
name(
    "heads_and_width_swapped",
    "H and dh are swapped: `heads` is used as the width of a head, so there are dh heads of width H",
    (SPLIT, "x = x.reshape(B, T, d // heads, heads)"),
    (TURN, "return x.transpose(0, 3, 1, 2)"),
    ((TURN, "return x.transpose(0, 3, 1, 2)"), (BACK, "x = x.transpose(0, 2, 3, 1)")),
    ((TURN, "return x.transpose(0, 2, 3, 1)"), (SHAPE, "B, H, dh, T = x.shape"), (BACK, "x = x.transpose(0, 3, 1, 2)")),
    look="which of the two numbers is the head's width",
    hint="Try it with one head: the only head must come out as wide as the whole token.",
)
for axis, what, back, ahead in (
    ("token", "tokens", "[:, ::-1]", "[:, :, ::-1]"),
    ("head", "heads", "[:, :, ::-1]", "[:, ::-1]"),
):
    turned = (TURN, f"return x.transpose(0, 2, 1, 3){ahead}"), (BACK, f"{BACK}{back}")
    says, where = f"the {what} come out in reverse order", f"every step of -1, and every flip, on the {axis} axis"
    name(f"{what}_reversed", says, *turned, turned, look=where)
name(
    "heads_folded_into_batch",
    "the heads are folded into the batch: (B * H, T, dh) instead of (B, H, T, dh)",
    (TURN, "return x.transpose(0, 2, 1, 3).reshape(B * heads, T, d // heads)"),
    (TURN, "return x.transpose(2, 0, 1, 3).reshape(B * heads, T, d // heads)"),
    look="the rank of what split_heads returns: 4",
    kind="convention",
    hint="What would merge_heads need to know, to tell a batch of 2 with 4 heads from a batch of 4 with 2 heads?",
)
says = "merge_heads turns the axes back but does not join H and dh: (B, T, H, dh) instead of (B, T, d)"
think = "Count the axes of what went into split_heads, and of what comes back out of merge_heads."
name("heads_not_joined", says, (MERGE, "return x"), look="the last step of merge_heads", hint=think)
says = "the result is kept in a float32 buffer: half of the digits of a float64 input are gone"
DTYPE = "the dtype of every new array: that of x"
name("float32_buffer", says, *(form for pair in NARROW for form in (*pair, pair)), look=DTYPE)
name(
    "memory_order",
    "merge_heads reads the memory as it lies instead of by index, which is wrong for a transposed view",
    (BACK, 'x = x.ravel(order="K").reshape(B, H, T, dh).transpose(0, 2, 1, 3)'),
    look="order=, strides and buffers: leave them to NumPy",
    level="follow-up",
)
says = "the result is kept in a float64 buffer whatever comes in: float32 and whole numbers are converted"
name("float64_buffer", says, *WIDE, WIDE, look=DTYPE, level="follow-up")

KATA.hint(
    "Write two tokens of four features on paper, and mark with colours which numbers belong to which of two heads.",
    "Every token keeps its place; only its features are dealt out. So cut the last axis alone into heads and their "
    "width, and only then ask where the new axis should stand.",
    "Splitting takes two steps: reshape the last axis to (H, dh), which gives (B, T, H, dh), then let T and H change "
    "places. Merging takes the same two steps backwards, in the opposite order: first the axes, then the reshape.",
)
KATA.shape(x="(B, T, H, dh)")

KATA.term(
    "order of the axes",
    "Should the result be (B, H, T, dh), with an axis of its own for the heads?",
    "Yes, (B, H, T, dh): four axes, so that each head holds a (T, dh) matrix. The batch stays apart.",
    (
        r"\b(axis|axes|dim(ension)?s?|rank|4-?d|3-?d)\b",
        r"\bshape\b",
        r"\border of (the )?(axes|dim)",
        r"\(b, ?h, ?t|\(b, ?t, ?h|\(h, ?b|\(b ?\* ?h",
        r"\b(fold|flatten|merge|combine)\w*\b.*\bbatch\b",
        r"\bheads? (come|go|stand|axis|before|after|first)",
    ),
    (
        UNLESS + r"\b(fold|flatten|combine|merge)\w*\b.*\b(into|with) (the )?batch",
        UNLESS + r"\(b ?\* ?h",
        UNLESS + r"\(h, ?b, ?t",
        r"\b(return|result is|leave)\b[^.;]*\(b, ?t, ?h, ?dh\)",
    ),
    ("heads_folded_into_batch",),
)
KATA.term(
    "blocks or interleaved",
    "Does a head hold a contiguous block of the features, or every H-th of them?",
    "A block: head h holds the features h * dh to (h + 1) * dh of every token, in order.",
    (
        r"\bfeatures?\b",
        r"\b(contiguous|consecutive|adjacent) (block|feature|chunk|slice)|\bblocks?\b|\bchunks?\b",
        r"\binterleav\w*|\bstrided?\b|\bround.?robin\b",
        r"\bevery (h|n|nth|h-th|other)\b",
        r"\bwhich (features|columns|channels|part)",
    ),
    (UNLESS + r"\b(interleav\w*|round.?robin)\b", r"\b(gets?|holds?|takes?)\b[^.;]*\bevery (h|n|other)"),
)
KATA.term(
    "width that does not divide",
    "What if heads do not divide the width?",
    "The core first: there they divide. As a follow-up, that, heads below 1 and a wrong rank raise ValueError.",
    (
        r"\b(divi[ds]|multiple|remainder|modulo)",
        r"\bd ?% ?(h|heads)\b",
        r"\b(rais\w+|errors?|exceptions?|valueerror|validat\w*|guards?|invalid)\b",
        r"\bheads? (is |are |of |= ?)?(0|zero|negative|below)\b",
        r"\bpad(ded|ding)?\b|\btruncat|\bdrop",
    ),
    (r"\b(pad|truncate|drop|cut off|ignore)\b[^.;]*\b(features?|width|rest|remainder|d)\b",),
)
KATA.term(
    "view or copy",
    "May I return a view of the input, or must it be a copy?",
    "A view is fine, as long as nothing writes into the input.",
    (
        r"\bviews?\b",
        r"\bcop(y|ies|ied)\b",
        r"\bin[- ]?place\b|\b(modif|mutat|overwrit)\w*",
        r"\b(share|own)s? (the )?memory\b|\bc-contiguous\b",
        r"\bnon-?contiguous\b|\btransposed (view|input)",
    ),
    (UNLESS + r"\b(modify|overwrite|write into)\b.*\b(x|input)\b", r"\bin[- ]place is fine"),
)

KATA.fact("merge", "How does merge know H?", "From the shape of its input.", (r"\bmerge\w*\b.*\bknow",))
KATA.question(
    "Why transpose after the reshape? Why not reshape straight to (B, H, T, dh)?",
    "A matrix product works on the last two axes and treats those before them as batch, so each head needs its (T, "
    "dh) last. The reshape only cuts d into (H, dh) and leaves (B, T, H, dh). Going straight to (B, H, T, dh) gives "
    "the right shape with wrong contents: a reshape refills axes in the order of memory, so a head would hold whole "
    "tokens cut into pieces.",
)
KATA.question(
    "When does a reshape copy, and why does torch's view raise where reshape does not?",
    "Where strides over the existing memory cannot express the new shape. Cutting an axis in two never needs a copy; "
    "joining two needs them to lie one behind the other. After the transpose H and dh do not, as the tokens lie "
    "between them, so merging copies. In torch, view promises to share memory and therefore raises; reshape copies "
    "where it must.",
)
KATA.question(
    "What do 8 heads of 64 cost against one head of 512?",
    "In multiplications the same: the projections are d² a token either way, and H heads of T² scores with dh "
    "products each make T² d. But there are eight times as many scores, so the softmax and the memory for the "
    "weights, B H T², grow eightfold. For that a position can look in eight directions, each with scores of rank 64 "
    "at most.",
)
KATA.question(
    "How would you share two key heads among eight query heads, as in grouped-query attention?",
    "Split keys and values into 2 heads and queries into 8, then view the queries as (B, 2, 4, T, dh) and give the "
    "keys an axis of length 1: broadcasting lets every group of four share one, without a copy. Repeating each key "
    "head four times, next to each other, gives the same. The cache shrinks to a quarter.",
)
