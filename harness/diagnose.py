"""Names the mistake: replays the recorded calls on the solution as each mistake patches it, and matches the answers.

An answer is a value or an exception, its dtype, and which inputs it changed. A mistake is recognised when, on every
recorded call where the submission is wrong, its answer is at least 100 times closer to the mistake's than to the right
one. Single mistakes are tried first. Pairs, of patches that touch different lines, are tried when no single one fits,
or when one fits but leaves more than rounding to explain: a small mistake may hide behind a large one.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness import registry
from harness.expect import differs, tolerance
from harness.model import Answer, Call, Form, Kata, Mistake, Named, Outcome
from harness.wire import Array

CLOSER = 100.0
NEAR = 5.0
EXACT = 10.0
Match = Literal["values", "pattern", "silent", "contradicts"]
Record = tuple[str, Call, Answer]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The mistakes that were recognised, and a remark in plain words when none was."""

    mistakes: tuple[Named, ...] = ()
    remark: str = ""


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
    """How a mistake explains the wrong answers, and the most that it leaves unexplained, in tolerances."""

    match: Match
    left: float = 0.0


@dataclass(frozen=True)
class Fitting:
    """One mistake, or two at once, that contradict no answer."""

    names: Names
    form: Form
    fit: Fit


CONTRADICTS = Fit("contradicts")


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
    """What the functions answer: on read-only `args`, or to watch what is changed, on a copy that may be written to."""
    args = copy.deepcopy(call.args) if watch else args
    try:
        with np.errstate(all="ignore"):
            value = getattr(functions, call.function)(*args)
    except Exception:
        return Given(None, True)
    return Given(value, False, tuple(_changed(call, args)) if watch else ())


def _frozen(value: Any) -> Any:
    """Read-only views: a mistake that writes into its inputs cannot be that of a submission that does not."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(_frozen, value))
    return copy.deepcopy(value)


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
    """One mistake when one fits. A pair when none does, or when one fits but leaves more to explain than rounding."""
    if not evidence:
        return []
    solution = registry.solution(name)
    singles = _fitting(solution, (((m.name,), form) for m in entries for form in m.forms), evidence)
    strong = _narrowed(solution, [f for f in singles if f.fit.match == "values"], sound)
    weak = [f for f in singles if f.fit.match == "pattern" and _is_sound(solution.reference(f.form), sound)]
    if any(f.fit.left <= EXACT for f in strong):
        return _names(strong)
    if not strong and len(_names(weak)) == 1:
        return _names(weak)
    known = set(_names(strong) or found)
    pairs = [f for f in _fitting(solution, _pairs(solution, entries, known), evidence) if f.fit.match == "values"]
    if strong:
        pairs = [f for f in pairs if f.fit.left <= EXACT]
    common = [set(f.names) for f in _narrowed(solution, pairs, sound)]
    return sorted(set.intersection(*common)) if common else _names(strong)


def _names(fitting: list[Fitting]) -> list[str]:
    return sorted({name for f in fitting for name in f.names})


def _narrowed(solution: registry.Solution, fitting: list[Fitting], sound: list[Evidence]) -> list[Fitting]:
    """Of several: those that explain all but rounding, then those that are right wherever the submission is."""
    fitting = [f for f in fitting if f.fit.left <= EXACT] or fitting
    if len({f.names for f in fitting}) < 2:
        return fitting
    return [f for f in fitting if _is_sound(solution.reference(f.form), sound)] or fitting


def _is_sound(functions: Any, sound: list[Evidence]) -> bool:
    given = ((e, _give(functions, e.call, e.args)) for e in sound)
    return not any(g.raised or _is_wrong(Answer(g.value), e.right) for e, g in given)


def _pairs(solution: registry.Solution, entries: list[Mistake], known: set[str]) -> Iterator[tuple[Names, Form]]:
    """Two forms of two mistakes that touch different lines; with a mistake `known`, only pairs with one such."""
    forms = [(m.name, form, solution.places(form)) for m in entries for form in m.forms]
    for (a, one, here), (b, other, there) in itertools.combinations(forms, 2):
        if a != b and not here & there and (not known or {a, b} & known):
            yield (a, b), (*one, *other)


def _fitting(
    solution: registry.Solution, tried: Iterable[tuple[Names, Form]], evidence: list[Evidence]
) -> list[Fitting]:
    """Those that contradict no answer, each with how it fits."""
    fitting = []
    for names, form in tried:
        with contextlib.suppress(ValueError):  # the one patch of a pair may write what the other looks for
            fit = _fit(solution.reference(form), evidence)
            if fit.match != "contradicts":
                fitting.append(Fitting(names, form, fit))
    return fitting


def _fit(functions: Any, evidence: list[Evidence]) -> Fit:
    """How a patched reference explains the wrong answers as a whole."""
    best: Match = "silent"
    left = 0.0
    for e in evidence:
        fit = _compare(e, _give(functions, e.call, e.args, bool(e.answer.changed)))
        if fit.match == "contradicts":
            return fit
        if fit.match == "values" or best == "silent":
            best = fit.match
        left = max(left, fit.left)
    return Fit(best, left)


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
    to_right = _distance(got[both], right[both])
    to_theirs = _distance(got[both], theirs[both])
    if to_right > slack:
        if to_theirs * CLOSER > to_right:
            return CONTRADICTS
        if both.mean() >= 1 / 3:
            return Fit("values", to_theirs / slack if slack else 0.0)
    elif to_theirs > slack:
        return CONTRADICTS
    if (np.isnan(got) == np.isnan(theirs)).all():
        return Fit("pattern" if np.isnan(got).any() else "silent")
    return Fit("silent") if both.mean() >= 1 / 3 else CONTRADICTS


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
    return worst
