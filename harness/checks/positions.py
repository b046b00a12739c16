"""Sinusoidal positions: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, grids
from harness.families import UNLESS
from harness.kata import Kata
from harness.model import Submission, Wrong
from harness.probe import Rng

KATA = Kata(track=2, minutes=6, functions=("sinusoidal_positions",))
SIZES = ((1, 2), (1, 4), (2, 4), (3, 4), (4, 6), (5, 2), (4, 4), (7, 8), (6, 12), (8, 5 * 2), (50, 64), (300, 16))


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the table is a (T, d) array of float64"""
    for call, answer in submission.sinusoidal_positions.each([(3, 4), (1, 2), (5, 8), (6, 2)]):
        got = expect.returned(call, answer, reference.sinusoidal_positions(*call.args))
        if got.dtype != np.float64:
            raise expect.wrong(call, answer, f" has dtype {got.dtype}, should be float64")


@KATA.core
def first_row(submission: Submission, reference: Any, rng: Rng) -> None:
    """position 0 stands first: all its angles are 0, so its sines are 0 and its cosines 1"""
    for call, answer in submission.sinusoidal_positions.each([(1, 4), (3, 6)]):
        got = expect.returned(call, answer, reference.sinusoidal_positions(*call.args))
        want = np.tile([0.0, 1.0], got.shape[1] // 2)
        if expect.differs(got[0], want).any():
            shown = grids.beside(grids.table(got[0]), grids.table(want), ("row 0", "should be"))
            raise Wrong(f"row 0 of sinusoidal_positions{call.args} is wrong", shown, call=call, answer=answer)


@KATA.core
def first_pair(submission: Submission, reference: Any, rng: Rng) -> None:
    """the first pair turns by 1 a position, whatever the width"""
    for call, answer in submission.sinusoidal_positions.each([(5, 2), (4, 4), (4, 8)]):
        got = expect.returned(call, answer, reference.sinusoidal_positions(*call.args))
        position = np.arange(len(got))
        want = np.stack([np.sin(position), np.cos(position)], axis=1)
        bad = expect.differs(got[:, :2], want)
        if bad.any():
            shown = grids.beside(grids.table(got[:, :2], bad), grids.table(want), ("columns 0 and 1", "should be"))
            raise Wrong(f"the first pair of sinusoidal_positions{call.args} is wrong", shown, call=call, answer=answer)


@KATA.core
def pairs_turn(submission: Submission, reference: Any, rng: Rng) -> None:
    """each pair is a point on the unit circle, and each pair turns slower than the one before it"""
    for call, answer in submission.sinusoidal_positions.each([(3, 6), (4, 12)]):
        got = expect.returned(call, answer, reference.sinusoidal_positions(*call.args))
        sines, cosines = got[:, 0::2], got[:, 1::2]
        off = ~(np.abs(sines**2 + cosines**2 - 1) <= 1e-9)
        if off.any():
            t, i = (int(n) for n in np.argwhere(off)[0])
            says = f"features {2 * i} and {2 * i + 1} of row {t} are no sine and cosine of one angle"
            raise Wrong(says, f"Their squares should sum to 1.\n{grids.table(got[t])[0]}", call=call, answer=answer)
        turns = np.arctan2(sines[1], cosines[1])
        if not (np.diff(turns) < 0).all():
            says = f"the pairs of sinusoidal_positions{call.args} do not turn slower and slower"
            raise Wrong(says, f"They turn by\n{grids.table(turns)[0]}\na position.", call=call, answer=answer)


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """the angle of pair i is position / 10000^(2i / d), at every length and every even width"""
    drawn = int(rng.integers(9, 40)), 2 * int(rng.integers(7, 40))
    expect.agrees(submission.sinusoidal_positions, reference.sinusoidal_positions, [*SIZES, drawn])


@KATA.core
def prefix(submission: Submission, reference: Any, rng: Rng) -> None:
    """a longer table begins with the shorter one"""
    (call, short), (_, long) = submission.sinusoidal_positions.each([(4, 6), (9, 6)])
    got = expect.returned(call, short, reference.sinusoidal_positions(4, 6))
    whole = expect.returned(call, long, reference.sinusoidal_positions(9, 6))
    if expect.differs(got, whole[:4]).any():
        says = "row t depends on the length: sinusoidal_positions(4, 6) is not how sinusoidal_positions(9, 6) begins"
        raise Wrong(says, call=call, answer=short)


@KATA.core
def repeatable(submission: Submission, reference: Any, rng: Rng) -> None:
    """the same call gives the same answer, also the fifth time and after other sizes"""
    ask, right = submission.sinusoidal_positions, reference.sinusoidal_positions
    expect.agrees(ask, right, [(6, 4), (3, 8), (5, 6), (6, 4), (9, 2), (6, 4), (6, 4), (6, 4)])


@KATA.follow_up
def refuses_short(submission: Submission, reference: Any, rng: Rng) -> None:
    """a length or a width below 1 raises ValueError"""
    expect.refuses(submission.sinusoidal_positions, [(0, 4), (-1, 4), (3, 0), (3, -2)])


@KATA.follow_up
def refuses_fractions(submission: Submission, reference: Any, rng: Rng) -> None:
    """a length or a width that is no integer raises ValueError"""
    expect.refuses(submission.sinusoidal_positions, [(2.5, 4), (3, 4.0), ("3", 4)])


@KATA.follow_up
def numpy_integers(submission: Submission, reference: Any, rng: Rng) -> None:
    """integers of NumPy's are sizes too"""
    expect.agrees(submission.sinusoidal_positions, reference.sinusoidal_positions, [(np.int64(3), np.int32(4))])


POSITION, PAIR = "np.arange(length)[:, None]", "np.arange(0, width, 2)"
ANGLE, TABLE = "position / 10000.0 ** (pair / width)", "np.zeros((length, width))"
EVEN, ODD = "table[:, 0::2] = np.sin(angle)", "table[:, 1::2] = np.cos(angle[:, : width // 2])"
EXPONENT, COLUMNS = "the exponent of 10000", "which columns the sines and the cosines go to"

name = KATA.mistake
name(
    "halves",
    "all sines come first and all cosines after them, in halves, instead of side by side",
    ((EVEN, EVEN.replace("0::2", ": width // 2")), (ODD, ODD.replace("1::2", "width // 2 :"))),
    look=COLUMNS,
    kind="convention",
    hint="Write out row 0 for four features. Where do its zeros and ones stand?",
)
name(
    "halves_swapped",
    "all cosines come first and all sines after them, in halves, instead of sine and cosine side by side",
    ((EVEN, EVEN.replace("0::2", "width // 2 :")), (ODD, ODD.replace("1::2", ": width // 2"))),
    look=COLUMNS,
)
name(
    "sine_cosine_swapped",
    "sine and cosine are exchanged: cosines stand in the even columns",
    ((EVEN, EVEN.replace("sin", "cos")), (ODD, ODD.replace("cos", "sin"))),
    look=COLUMNS,
    hint="What is the very first entry of the table, the sine of nothing?",
)
name(
    "exponent_of_each_feature",
    "the cosine has an exponent of its own, (2i + 1) / d: both features of a pair share 2i / d",
    (ODD, "table[:, 1::2] = np.cos(position / 10000.0 ** ((pair + 1) / width))"),
    look=EXPONENT,
    hint="Square the two features of a pair and add them up. For one angle that is always 1.",
)
name(
    "exponent_halved",
    "the exponent is i / d instead of 2i / d: the factor 2 is missing, so the slowest pair turns too fast",
    (PAIR, "np.arange(0, width, 2) // 2"),
    look=EXPONENT,
    hint="How slowly should the last pair turn? Its exponent comes close to 1, not to one half.",
)
name(
    "exponent_doubled",
    "the exponent is doubled: 2 is taken of a number that already counts in twos",
    (PAIR, "2 * np.arange(0, width, 2)"),
    look=EXPONENT,
    hint="Is your index the number of the pair, or that of its first feature? Only the first still needs doubling.",
)
name(
    "exponent_off_by_one",
    "the pairs are counted from 1: the first pair should turn by 1 a position, exponent 0",
    (PAIR, "np.arange(2, width + 2, 2)"),
    (PAIR, "np.arange(1, width + 1, 2)"),
    look=EXPONENT,
    hint="Set i to the first value that your index takes: is the angle there the position itself?",
)
name(
    "last_pair_at_base",
    "the exponent runs to 1, 2i / (d - 2), so that the last pair has the base itself as its wavelength",
    ("(pair / width)", "(pair / max(width - 2, 1))"),
    look=EXPONENT,
    kind="convention",
)
name(
    "frequency_inverted",
    "the angle is position times 10000^(2i / d) instead of divided by it: pairs turn faster and faster",
    ("position / ", "position * "),
    look="a sign of the exponent, or * for /",
    hint="Far along the features neighbouring positions should look almost alike. Do they?",
)
name(
    "another_base",
    "the base of the wavelengths is not 10000",
    *(("10000.0", base) for base in ("1000.0", "100000.0", "2 * np.pi * 10000")),
    look="the number of zeros",
)
name(
    "positions_from_one",
    "positions are counted from 1: the first row belongs to position 0",
    (POSITION, "np.arange(1, length + 1)[:, None]"),
    look="where the range of positions starts",
    hint="All angles of the first row should be nothing. Is there a sine in yours that is not 0?",
)
name(
    "positions_scaled",
    "positions are divided by the length: row t should not depend on how many rows there are",
    (POSITION, "np.arange(length)[:, None] / length"),
    (POSITION, "np.linspace(0, 1, length)[:, None]"),
    look="what stands for the position",
)
name(
    "one_frequency",
    "every pair turns at the same rate: the exponent is lost",
    (ANGLE, "np.tile(position, len(pair))"),
    look=EXPONENT,
)
name(
    "whole_numbers",
    "the exponent is divided as whole numbers (//), so that it is 0 everywhere or nearly so",
    ("(pair / width)", "(2 * pair // width)"),
    look="// for /",
)
name(
    "transposed",
    "the table is (d, T): it has a column, not a row, for each position",
    ("return table", "return table.T"),
    look="which axis counts positions",
    hint="The caller adds it to x of shape (B, T, d). Which of your axes meets which of x?",
)
name(
    "extra_axis",
    "the table has an axis for the batch already, instead of being (T, d)",
    ("return table", "return table[None]"),
    look="the rank of what is returned: 2. Broadcasting is the caller's business",
    kind="convention",
)
name(
    "float32_table",
    "the table is float32: it should be float64",
    (TABLE, "np.empty((length, width), np.float32)"),
    look="the dtype of what the table is written into",
)

KATA.hint(
    "Take four features and two positions, and write the eight entries down by hand before you write any code.",
    "There are half as many angles as features. Make the (T, d/2) table of angles first, by letting a column of "
    "positions meet a row of rates.",
    "The rate of pair i is one over the base raised to 2i over d: it starts at 1 and falls towards one ten-thousandth. "
    "Multiply each position by each rate; then put the sines of all angles into every second column from the first "
    "on, and their cosines into every second one from the next.",
)
KATA.shape(position="(T, 1)", table="(T, d)")
KATA.term(
    "order of the features",
    "Do sines and cosines alternate, or come in two halves?",
    "They alternate: sine in the even features, cosine in the odd ones, a pair for each angle.",
    (
        r"\binterleav\w*|\balternat\w*|\bside by side\b",
        r"\bhal(f|ves)\b|\bconcat\w*",
        r"\b(even|odd) (features?|columns?|places?|ind\w+)",
        r"\bsin\w*\b.*\bcos\w*|\bcos\w*\b.*\bsin",
        r"\border of the (features|columns)",
    ),
    (UNLESS + r"\b(halves|concat\w*|first half)\b", UNLESS + r"\bcosines? (in|on|at) (the )?even\b"),
    ("halves",),
)
KATA.term(
    "exponent and base",
    "Which base, and is the exponent 2i / d, or does it run to exactly 1?",
    "Base 10000 and exponent 2i / d for pair i from 0: it stays below 1.",
    (
        r"\bbase\b|\b10,?000\b",
        r"\bexponent\b|\bfrequenc\w*|\bwavelength\w*|\brates?\b",
        r"\b2i\b|\bd ?- ?[12]\b|\bd/2\b",
        r"\bper pair\b|\bpairs?\b.*\b(share|same|own)",
    ),
    (UNLESS + r"(\bd ?- ?2\b|\b(up )?to (exactly )?(1|one)\b|\bbase (of |is )?(1000|100000|e)\b)",),
    ("last_pair_at_base",),
)
KATA.term(
    "first position",
    "Do positions count from 0 or from 1?",
    "From 0: the first row has sines of 0 and cosines of 1.",
    (
        r"\b(from|at|start\w*) (at )?(0|1|zero|one)\b",
        r"\bfirst (position|row)\b",
        r"\boffset\b",
        r"\bzero-?based\b|\bone-?based\b",
    ),
    (UNLESS + r"\b(from|at|with) (1|one)\b", UNLESS + r"\bone-?based\b"),
)
KATA.term(
    "shape",
    "Is the result (T, d), or has it an axis for the batch?",
    "(T, d): the caller adds it, and it broadcasts over the batch.",
    (
        r"\bshape\b",
        r"\bbatch\b",
        r"\b(axis|axes|dim(ension)?s?|rank)\b",
        r"\bt, ?d\b",
        r"\bbroadcast",
        r"\badd(ed)? to (x|the)\b",
    ),
    (UNLESS + r"\((1|b), ?t, ?d\)", UNLESS + r"\b(add|with|include|have|has) (a |an |the )?batch"),
    ("extra_axis",),
)
KATA.term(
    "odd widths",
    "May the width be odd?",
    "No: the width is even here.",
    (r"\bodd width|\bwidth\b.*\b(odd|even)\b", r"\bdivisible by (2|two)\b", r"\bmultiple of (2|two)\b"),
    (UNLESS + r"\b(odd widths?|may be odd)\b",),
)
KATA.question(
    "Why sines and cosines in pairs, and not sines alone?",
    "With both, a shift by k positions is the same rotation of each pair wherever it starts: row t + k is a matrix, "
    "which depends on k alone, times row t. So a linear layer can look k tokens back. A sine alone is ambiguous, since "
    "it takes each value twice a turn. RoPE turns queries and keys by these very rotations instead of adding them.",
)
KATA.question(
    "Why so many frequencies, and why powers?",
    "They act like the hands of clocks, or the digits of a number: the fast pairs tell neighbours apart and repeat "
    "after 6 positions; the slow ones repeat after up to 62,800 and tell where in the text one is. Evenly spaced on a "
    "log scale, every scale of distance gets as many features.",
)
KATA.question(
    "Sinusoidal, learned, rotary or ALiBi: which works beyond the trained length?",
    "A learned table has no row beyond its length. Sinusoids can be computed anywhere, but models trained on short "
    "texts hardly use new angles well. Rotary positions encode distances inside attention and stretch if its base is "
    "changed, mostly with a little further training. ALiBi takes off a penalty that grows with distance and holds up "
    "best untrained, at the price of favouring what is near.",
)
KATA.question(
    "The table is added to the embeddings. Does that not spoil them, and why does the paper scale by sqrt(d)?",
    "In hundreds of dimensions a sum can be taken apart again: the model learns embeddings that leave room. Entries of "
    "the table are of size 0.7, while embeddings initialised with deviation 1/sqrt(d) are far smaller, so the paper "
    "multiplies them by sqrt(d) to keep tokens from drowning. With a learned table of deviation 0.02 no scaling is "
    "needed.",
)
