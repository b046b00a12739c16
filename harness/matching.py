"""Matches answers: what patched code gives for recorded calls, against what a submission gave and what is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from harness import outputs
from harness.calls import Given, frozen, give
from harness.expect import differs, identical, tolerance
from harness.model import Answer, Call
from harness.wire import Array

CLOSER = 100.0
NEAR = 5.0
Match = Literal["values", "pattern", "silent", "blank", "contradicts"]
Record = tuple[str, Call, Answer]


class Off(NamedTuple):
    """How far a finite answer lies from the right one, and how far it may."""

    distance: float
    slack: float


class Evidence(NamedTuple):
    """One call, what the submission answered, what is right, and the arguments to replay it with.

    Of an answer of several parts it is one `part`, out of the `whole` right answer; an answer that is no such tuple is
    taken as it is, and its part is None.
    """

    call: Call
    answer: Answer
    right: Array
    args: tuple[Any, ...]
    whole: Any
    part: int | None = 0
    off: Off | None = None


class Fit(NamedTuple):
    """How a mistake explains the wrong answers, and the most that it leaves unexplained, in tolerances.

    By values; by a pattern of NaN; silent, when there is nothing to tell it by; blank, when the mistake gives only NaN.
    """

    match: Match
    left: float = 0.0


CONTRADICTS = Fit("contradicts")


def judged(reference: Any, records: Iterable[Record]) -> tuple[list[Evidence], list[Evidence]]:
    """The calls whose answer is wrong, the smallest first, and the others. Calls that should raise say nothing."""
    wrong: list[Evidence] = []
    sound: list[Evidence] = []
    for _, call, answer in records:
        if answer.raised is not None and answer.raised.fatal:
            continue
        args = frozen(call.args)
        right = give(reference, call, args)
        if not right.raised:
            for e in _evidence(call, answer, args, right.value):
                (wrong if e.part is None or e.off or _is_wrong(e.answer, e.right) else sound).append(e)
    return sorted(wrong, key=lambda e: e.right.size), sound


def _evidence(call: Call, answer: Answer, args: tuple[Any, ...], whole: Any) -> Iterator[Evidence]:
    """A call, by the parts of its answer."""
    rights, got = outputs.wanted(whole), outputs.parts(answer.value, whole)
    if got is None:
        yield Evidence(call, answer, rights[0], args, whole, None)
        return
    for part, (value, right) in enumerate(zip(got, rights, strict=True)):
        one = answer if value is answer.value else answer._replace(value=value)
        yield Evidence(call, one, right, args, whole, part, _off(one, right))


def _theirs(functions: Any, e: Evidence, watch: bool = False) -> Given:
    """What patched code gives in the place of an answer; None where its answer is built otherwise."""
    given = give(functions, e.call, e.args, watch)
    parts = outputs.parts(given.value, e.whole)
    if e.part is None or parts is None:
        return given._replace(value=given.value if e.part is None and parts is None else None)
    return given if parts[e.part] is given.value else given._replace(value=parts[e.part])


def _off(answer: Answer, right: Any) -> Off | None:
    """How far a finite answer is from right; None when it does not lie beyond the tolerance."""
    got = answer.value
    if answer.raised or answer.changed or not isinstance(got, np.ndarray) or got.dtype.kind != "f":
        return None
    if got.shape != right.shape or got.dtype != right.dtype or identical(got, right):
        return None
    off = Off(_distance(got, right), tolerance(right))
    return off if off.slack < off.distance < math.inf and np.isfinite(got).all() else None


def _is_wrong(answer: Answer, right: Any) -> bool:
    value = answer.value
    if answer.raised or answer.changed or not isinstance(value, np.ndarray):
        return True
    return not identical(value, right) and (
        value.shape != right.shape or value.dtype != right.dtype or bool(differs(value, right).any())
    )


def fit(functions: Any, evidence: list[Evidence]) -> Fit:
    """How patched code explains the wrong answers as a whole. Blanks count for nothing, and must be few.

    A call that contradicts moves to the front of `evidence`: it will tell the next patch apart as well.
    """
    matches: list[Match] = []
    left = 0.0
    for index, e in enumerate(evidence):
        one = _compare(e, _theirs(functions, e, bool(e.answer.changed)))
        if one.match == "contradicts":
            evidence.insert(0, evidence.pop(index))
            return one
        matches.append(one.match)
        left = max(left, one.left)
    if matches.count("blank") > matches.count("values"):
        return CONTRADICTS
    best: Match = "pattern" if "pattern" in matches else "silent"
    return Fit("values" if "values" in matches else best, left)


def _compare(e: Evidence, given: Given) -> Fit:
    got, right, theirs = e.answer.value, e.right, given.value
    if e.answer.raised is not None or given.raised:  # an exception alone is no evidence
        return Fit("silent") if e.answer.raised is not None and given.raised else CONTRADICTS
    if not isinstance(got, np.ndarray) or not isinstance(theirs, np.ndarray):
        return CONTRADICTS
    if got.shape != theirs.shape or got.dtype != theirs.dtype or given.changed != e.answer.changed:
        return CONTRADICTS
    if got.shape != right.shape or got.dtype != right.dtype or e.answer.changed or e.part is None:
        return CONTRADICTS if differs(got, theirs).any() else Fit("values")
    if e.off and (distance := _distance(got, theirs)) < math.inf:  # the plain case, which is almost every one
        return (
            CONTRADICTS if distance * CLOSER > e.off.distance else Fit("values", distance / (e.off.slack or math.inf))
        )
    return _closer(_plain(got), _plain(right), _plain(theirs))


def _plain(array: Array) -> Array:
    return array.astype(float) if array.dtype.kind in "biu" else array


def _closer(got: Array, right: Array, theirs: Array) -> Fit:
    """Values against values: entries that are not finite in either are left out."""
    both = np.isfinite(got) & np.isfinite(theirs)
    slack = tolerance(right)
    every = bool(both.all())
    to_right = _distance(got, right) if every else _distance(got[both], right[both])
    to_theirs = _distance(got, theirs) if every else _distance(got[both], theirs[both])
    if to_right > slack:
        if to_theirs * CLOSER > to_right:
            return CONTRADICTS
        if both.mean() >= 1 / 3:
            return Fit("values", to_theirs / slack if slack else 0.0)
    elif to_theirs > slack:
        return CONTRADICTS
    if (np.isnan(got) == np.isnan(theirs)).all():
        return Fit("pattern" if np.isnan(got).any() else "silent")
    if both.mean() >= 1 / 3:
        return Fit("silent")
    return CONTRADICTS if np.isfinite(theirs).any() else Fit("blank")


def _distance(a: Array, b: Array) -> float:
    """The largest difference; infinite where `b` is."""
    largest = float(np.abs(a - b).max(initial=0.0))
    return largest if largest == largest else math.inf


def is_right(functions: Any, e: Evidence, blank: bool = False) -> bool:
    """Whether patched code gives what is right for a call; `blank`: as far as it gives anything finite. Kept, too."""
    key = functions, "right", e.part, blank
    if key not in e.call.given:
        e.call.given[key] = _is_right(functions, e, blank)
    return bool(e.call.given[key])


def _is_right(functions: Any, e: Evidence, blank: bool) -> bool:
    given = _theirs(functions, e)
    value = given.value
    if given.changed or not isinstance(value, np.ndarray):
        return False
    if value.shape != e.right.shape or value.dtype != e.right.dtype:
        return False
    off = differs(value, e.right)
    return not (off & np.isfinite(value) if blank else off).any()


def is_sound(functions: Any, sound: Iterable[Evidence]) -> bool:
    """Whether patched code is right wherever the submission is, as far as it gives anything finite there."""
    return all(is_right(functions, e, blank=True) for e in sound)


def ratio(functions: Any, evidence: list[Evidence]) -> float | None:
    """The worst of (distance to the mistake) / (distance to the right answer); None when it is not near."""
    worst = 0.0
    for e in evidence:
        given = _theirs(functions, e)
        got = e.answer.value
        if e.answer.changed or given.raised or not all(isinstance(v, np.ndarray) for v in (got, given.value)):
            return None
        if not got.shape == given.value.shape == e.right.shape:
            return None
        a, b, c = _plain(got), _plain(e.right), _plain(given.value)
        if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
            return None
        worst = max(worst, _distance(a, c) / max(_distance(a, b), 1e-300))
        if worst * NEAR > 1:
            return None
    return worst
