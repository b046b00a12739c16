"""Matches answers: what patched code gives for recorded calls, against what a submission gave and what is right."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness.expect import differs, tolerance
from harness.model import Answer, Call
from harness.wire import Array

CLOSER = 100.0
NEAR = 5.0
Match = Literal["values", "pattern", "silent", "blank", "contradicts"]
Record = tuple[str, Call, Answer]


@dataclass(frozen=True)
class Evidence:
    """One call, what the submission answered, what is right, and the arguments to replay it with."""

    call: Call
    answer: Answer
    right: Array
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Given:
    """What a patched reference gave for a call: a value or None, and the inputs that it changed."""

    value: Any
    raised: bool
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fit:
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
        args = _frozen(call.args)
        right = _give(reference, call, args)
        if not right.raised:
            (wrong if _is_wrong(answer, right.value) else sound).append(Evidence(call, answer, right.value, args))
    return sorted(wrong, key=lambda e: e.right.size), sound


def _is_wrong(answer: Answer, right: Any) -> bool:
    value = answer.value
    if answer.raised or answer.changed or not isinstance(value, np.ndarray):
        return True
    return value.shape != right.shape or value.dtype != right.dtype or bool(differs(value, right).any())


def _give(functions: Any, call: Call, args: tuple[Any, ...], watch: bool = False) -> Given:
    """What the functions answer, on read-only `args`; on copies when they write into them, or to watch what changes."""
    if watch:
        args = _copied(call.args)
    try:
        with np.errstate(all="ignore"):
            value = getattr(functions, call.function)(*args)
    except Exception as error:
        return Given(None, True) if watch or "read-only" not in str(error) else _give(functions, call, args, True)
    return Given(value, False, tuple(_changed(call, args)) if watch else ())


def _copied(value: Any) -> Any:
    """Copies that may be written to where the originals may be."""
    if isinstance(value, np.ndarray):
        copied = value.copy(order="K")
        copied.flags.writeable = value.flags.writeable
        return copied
    return _each(value, _copied)


def _frozen(value: Any) -> Any:
    """Read-only views: cheap, and enough for code that does not write into its inputs."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    return _each(value, _frozen)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(change, value))
    return copy.deepcopy(value)


def _changed(call: Call, args: Sequence[Any]) -> Iterable[str]:
    for index, (was, now) in enumerate(zip(call.args, args, strict=True)):
        name = call.names[index] if index < len(call.names) else f"argument {index}"
        if isinstance(was, np.ndarray) and was.tobytes() != now.tobytes():
            yield name
        elif isinstance(was, dict):
            yield from (f'{name}["{k}"]' for k in was if was[k].tobytes() != now[k].tobytes())


def fit(functions: Any, evidence: list[Evidence]) -> Fit:
    """How patched code explains the wrong answers as a whole. Blanks count for nothing, and must be few.

    A call that contradicts moves to the front of `evidence`: it will tell the next patch apart as well.
    """
    matches: list[Match] = []
    left = 0.0
    for index, e in enumerate(evidence):
        one = _compare(e, _give(functions, e.call, e.args, bool(e.answer.changed)))
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
    if got.shape != right.shape or got.dtype != right.dtype or e.answer.changed:
        return CONTRADICTS if differs(got, theirs).any() else Fit("values")
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
    with np.errstate(all="ignore"):
        largest = float(np.abs(a - b).max(initial=0.0))
    return largest if largest == largest else math.inf


def is_right(functions: Any, e: Evidence, blank: bool = False) -> bool:
    """Whether patched code gives what is right for a call; `blank`: as far as it gives anything finite."""
    given = _give(functions, e.call, e.args)
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
        given = _give(functions, e.call, e.args)
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
