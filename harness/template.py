"""The three files that a new kata begins with: they can be verified at once, and say what is still to be written."""

from __future__ import annotations

import keyword
from pathlib import Path

from harness import outline, stubs

TODO = "TODO"
SOLUTION = '''\
"""{title} · 5 minutes

Write `{name}(x)`: TODO what it computes, in a sentence or two, with the shape
of each argument, such as (B, T, d), and of the result.

Contract
    TODO the formula, the axis, the conventions: whatever is core.
    Nothing that is passed in is modified.
    Follow-up: TODO what raises ValueError.

    >>> {name}(np.array([[3.0, 4.0]]))  # TODO a small answer, as Python prints it
    array([[0., 0.]])
"""

import numpy as np


def {name}(x: np.ndarray) -> np.ndarray:
    raise NotImplementedError  # TODO what a strong candidate writes on a whiteboard
'''
CHECKS = '''\
"""{title}: hidden checks. Reading them spoils the exercise."""

from __future__ import annotations

from typing import Any

from harness import expect
from harness.kata import Kata
from harness.model import Submission
from harness.probe import Rng, normal, whole

KATA = Kata(track=2, minutes=5, functions=("{name}",))  # TODO the track, and a par in minutes


@KATA.core
def kind(submission: Submission, reference: Any, rng: Rng) -> None:
    """the result is a float array of the shape of x"""
    for call, answer in submission.{name}.each([(normal(rng, *shape),) for shape in ((4,), (2, 3, 5))]):
        expect.returned(call, answer, reference.{name}(*call.args))


@KATA.core
def values(submission: Submission, reference: Any, rng: Rng) -> None:
    """TODO the sentence that a person reads when this fails: what the answer should be"""
    cases = [(whole(rng, 1, 2),), (normal(rng, 2, 3, 5),)]  # the smallest first: the first wrong one is shown
    expect.agrees(submission.{name}, reference.{name}, cases)


@KATA.core
def untouched(submission: Submission, reference: Any, rng: Rng) -> None:
    """no input is modified, and the same call gives the same answer"""
    expect.unchanged(submission.{name}, reference.{name}, [(normal(rng, 2, 3, 5),)])


# TODO follow-ups, decorated with @KATA.follow_up: guards (expect.refuses), float32 (expect.keeps_float32)

# TODO at least five mistakes that people make. A form is a patch of the solution: (what stands there, what to write).
# KATA.mistake("name_of_it", "what is wrong, in one sentence", ("axis=-1", "axis=0"), look="where to look")

# TODO three hints, from a nudge to the whole thought, never the code: KATA.hint("...", "...", "...")
# TODO three terms that a candidate should ask for: KATA.term("in three words", "a question?", "Its answer.", (r"re",))
# TODO three follow-up questions with model answers of at most 80 words: KATA.question("Why ...?", "Because ...")
'''


def write(name: str) -> list[Path]:
    """Write the files of a new kata; ValueError when the name will not do or a file is there already."""
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or name.startswith("_"):
        raise ValueError(f"{name!r} is no name for a kata: it names a function too, as in rms_norm")
    solution, checks, kata = (folder / f"{name}.py" for folder in (outline.SOLUTIONS, outline.CHECKS, outline.KATAS))
    there = [str(path.relative_to(outline.ROOT)) for path in (solution, checks, kata) if path.exists()]
    if there:
        raise ValueError(f"{' and '.join(there)} exists already, and nothing is overwritten")
    words = {"name": name, "title": name.replace("_", " ").capitalize()}
    source = SOLUTION.format(**words)
    for path, text in ((solution, source), (checks, CHECKS.format(**words)), (kata, stubs.derive(source, [name]))):
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return [solution, checks, kata]
