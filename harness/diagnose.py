"""Names the mistake: replays the recorded calls on the solution as each mistake patches it, and matches the answers.

An answer is a value or an exception, its dtype, and which inputs it changed. A mistake is recognised when, on every
recorded call where the submission is wrong, its answer is at least 100 times closer to the mistake's than to the right
one. Single mistakes are tried first, then pairs whose patches touch different lines.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness import registry
from harness.expect import differs, tolerance
from harness.model import Answer, Call, Form, Kata, Mistake, Named, Outcome
from harness.wire import Array

CLOSER = 100.0
NEAR = 5.0
Match = Literal["values", "pattern", "silent", "contradicts"]
Record = tuple[str, Call, Answer]


@dataclass(frozen=True)
class Diagnosis:
    """The mistakes that were recognised, and a remark in plain words when none was."""

    mistakes: tuple[Named, ...] = ()
    remark: str = ""


@dataclass(frozen=True)
class Evidence:
    """One call and its answer, and what would have been right."""

    call: Call
    answer: Answer
    right: Array


@dataclass(frozen=True)
class Given:
    """What a patched reference gave for a call: a value or None, and the inputs that it changed."""

    value: Any
    raised: bool
    changed: tuple[str, ...]


def diagnose(kata: Kata, outcomes: Sequence[Outcome], records: Sequence[Record]) -> Diagnosis:
    """The mistakes behind the failed checks of one submission."""
    named: dict[str, Named] = {}
    remark = ""
    for level in ("core", "follow-up"):
        failed = [o for o in outcomes if o.outcome == "failed" and o.level == level and not o.repeats]
        if not failed:
            continue
        checks = {check.name for check in kata.checks if check.level == level}
        entries = [m for m in kata.mistakes if m.level == level]
        found = [name for o in failed if (name := o.mistake)]
        evidence, sound = _judged(kata.name, [r for r in records if r[0] in checks])
        found += [m for m in _recognise(kata.name, entries, evidence, sound, found) if m not in found]
        named |= {m.name: Named(m.name, m.kind, m.says, m.look) for m in kata.mistakes if m.name in found}
        if not found and level == "core" and evidence:
            remark = _nearest(kata.name, entries, evidence)
    return Diagnosis(tuple(named.values()), remark)


def _judged(name: str, records: Iterable[Record]) -> tuple[list[Evidence], list[Evidence]]:
    """The calls whose answer is wrong, the smallest first, and the others. Calls that should raise say nothing."""
    reference = registry.solution(name).reference()
    wrong: list[Evidence] = []
    sound: list[Evidence] = []
    for _, call, answer in records:
        if answer.raised is not None and answer.raised.fatal:
            continue
        right = _give(reference, call, ())
        if not right.raised:
            (wrong if _is_wrong(answer, right.value) else sound).append(Evidence(call, answer, right.value))
    return sorted(wrong, key=lambda e: e.right.size), sound


def _is_wrong(answer: Answer, right: Any) -> bool:
    value = answer.value
    if answer.raised or answer.changed or not isinstance(value, np.ndarray):
        return True
    return value.shape != right.shape or value.dtype != right.dtype or bool(differs(value, right).any())


def _give(functions: Any, call: Call, watch: Sequence[str]) -> Given:
    args = copy.deepcopy(call.args) if watch or not _frozen(call.args) else call.args
    try:
        with np.errstate(all="ignore"):
            value = getattr(functions, call.function)(*args)
    except Exception:
        return Given(None, True, ())
    return Given(value, False, tuple(_changed(call, args)) if watch else ())


def _frozen(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    if isinstance(value, dict):
        return all(map(_frozen, value.values()))
    return all(map(_frozen, value)) if isinstance(value, tuple | list) else True


def _changed(call: Call, args: Sequence[Any]) -> Iterable[str]:
    for index, (was, now) in enumerate(zip(call.args, args, strict=True)):
        name = call.names[index] if index < len(call.names) else f"argument {index}"
        if isinstance(was, np.ndarray) and was.tobytes() != now.tobytes():
            yield name
        elif isinstance(was, dict):
            yield from (f'{name}["{k}"]' for k in was if was[k].tobytes() != now[k].tobytes())


def _recognise(
    name: str, entries: list[Mistake], evidence: list[Evidence], sound: list[Evidence], found: list[str]
) -> list[str]:
    if not evidence:
        return []
    solution = registry.solution(name)
    fitting: dict[Match, list[tuple[str, Form]]] = {"values": [], "pattern": []}
    for mistake in entries:
        for form in mistake.forms:
            match = _match(solution.reference(form), evidence)
            if match in fitting:
                fitting[match].append((mistake.name, form))
    strong, weak = (_narrowed(solution, fitting[match], sound) for match in ("values", "pattern"))
    if strong or len(weak) == 1:
        return sorted(strong or weak)
    return _pair(solution, entries, evidence, found)


def _narrowed(solution: registry.Solution, fitting: list[tuple[str, Form]], sound: list[Evidence]) -> set[str]:
    """The names that fit; of several only those that are right wherever the submission is, when there are any."""
    names = {name for name, _ in fitting}
    if len(names) < 2:
        return names
    exact = set()
    for name, form in fitting:
        functions = solution.reference(form)
        given = ((e, _give(functions, e.call, ())) for e in sound)
        if not any(g.raised or _is_wrong(Answer(g.value), e.right) for e, g in given):
            exact.add(name)
    return exact or names


def _pair(solution: registry.Solution, entries: list[Mistake], evidence: list[Evidence], found: list[str]) -> list[str]:
    """The names common to all the pairs that explain everything; with a mistake already found, only pairs with it."""
    forms = [(m.name, form, solution.places(form)) for m in entries for form in m.forms]
    fitting = []
    for (a, one, here), (b, other, there) in itertools.combinations(forms, 2):
        if a == b or here & there or (found and not {a, b} & set(found)):
            continue
        if _match(solution.reference((*one, *other)), evidence) == "values":
            fitting.append({a, b})
    return sorted(set.intersection(*fitting)) if fitting else []


def _match(functions: Any, evidence: list[Evidence]) -> Match:
    """How a patched reference explains the wrong answers as a whole."""
    best: Match = "silent"
    for e in evidence:
        given = _give(functions, e.call, e.answer.changed)
        match = _compare(e, given)
        if match == "contradicts":
            return match
        if match == "values" or best == "silent":
            best = match
    return best


def _compare(e: Evidence, given: Given) -> Match:
    got, right, theirs = e.answer.value, e.right, given.value
    if e.answer.raised is not None or given.raised:  # an exception alone is no evidence
        return "silent" if e.answer.raised is not None and given.raised else "contradicts"
    if not isinstance(got, np.ndarray) or not isinstance(theirs, np.ndarray):
        return "contradicts"
    if got.shape != theirs.shape or got.dtype != theirs.dtype or given.changed != e.answer.changed:
        return "contradicts"
    if got.shape != right.shape or got.dtype != right.dtype or e.answer.changed:
        return "contradicts" if differs(got, theirs).any() else "values"
    return _closer(_plain(got), _plain(right), _plain(theirs))


def _plain(array: Array) -> Array:
    return array.astype(float) if array.dtype.kind in "biu" else array


def _closer(got: Array, right: Array, theirs: Array) -> Match:
    """Values against values: entries that are not finite in either are left out."""
    both = np.isfinite(got) & np.isfinite(theirs)
    slack = tolerance(right)
    if both.mean() >= 1 / 3:
        to_right = _distance(got[both], right[both])
        to_theirs = _distance(got[both], theirs[both])
        if to_right > slack:
            return "values" if to_theirs * CLOSER <= to_right else "contradicts"
        if to_theirs > slack:
            return "contradicts"
    same_pattern = bool((np.isnan(got) == np.isnan(theirs)).all())
    if same_pattern:
        return "pattern" if np.isnan(got).any() else "silent"
    return "silent" if both.mean() >= 1 / 3 else "contradicts"


def _distance(a: Array, b: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.abs(a - b).max(initial=0.0)) if np.isfinite(b).all() else math.inf


def _nearest(name: str, entries: list[Mistake], evidence: list[Evidence]) -> str:
    """Honest words when nothing matches: the entry that is at least NEAR times closer than the right answer, if any."""
    ranked = []
    solution = registry.solution(name)
    for mistake in entries:
        for form in mistake.forms:
            ratio = _ratio(solution.reference(form), evidence)
            if ratio is not None and ratio * NEAR <= 1:
                ranked.append((ratio, mistake))
    if not ranked:
        return "no known mistake matches"
    _, mistake = min(ranked, key=lambda pair: pair[0])
    return f"no known mistake matches; the nearest is {mistake.name}: {mistake.says}"


def _ratio(functions: Any, evidence: list[Evidence]) -> float | None:
    """The worst of (distance to the mistake) / (distance to the right answer); None when they cannot be compared."""
    worst = 0.0
    for e in evidence:
        given = _give(functions, e.call, ())
        got = e.answer.value
        if given.raised or not isinstance(got, np.ndarray) or not isinstance(given.value, np.ndarray):
            return None
        if not got.shape == given.value.shape == e.right.shape:
            return None
        a, b, c = _plain(got), _plain(e.right), _plain(given.value)
        if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
            return None
        worst = max(worst, _distance(a, c) / max(_distance(a, b), 1e-300))
    return worst
