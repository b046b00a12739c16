"""Names the mistake: replays the recorded calls on the solution as each mistake patches it, and matches the answers.

An answer is a value or an exception, its dtype, and which inputs it changed. A mistake is recognised when, on every
recorded call where the submission is wrong, its answer is at least 100 times closer to the mistake's than to the right
one, and where the submission is right, so is the mistake. Single mistakes are tried first. Pairs, of patches that touch
different lines, are tried when no single one fits, or when one fits but leaves more than rounding to explain: a small
mistake may hide behind a large one.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from harness import matching, registry
from harness.kata import Form, Kata, Mistake
from harness.matching import Evidence, Fit, Record
from harness.model import Named, Outcome

EXACT = 10.0
SIFTED = 4
Names = tuple[str, ...]


class Diagnosis(NamedTuple):
    """The mistakes that were recognised, and a remark in plain words when none was."""

    mistakes: tuple[Named, ...] = ()
    remark: str = ""


class Fitting(NamedTuple):
    """One mistake, or two at once, that contradict no answer."""

    names: Names
    form: Form
    fit: Fit


def diagnose(kata: Kata, outcomes: Sequence[Outcome], records: Sequence[Record]) -> Diagnosis:
    """The mistakes behind the failed checks of one submission."""
    with np.errstate(all="ignore"):
        return _diagnosed(kata, outcomes, records)


def _diagnosed(kata: Kata, outcomes: Sequence[Outcome], records: Sequence[Record]) -> Diagnosis:
    named: dict[str, Named] = {}
    remark = ""
    for level in ("core", "follow-up"):
        failed = [o for o in outcomes if o.outcome == "failed" and o.level == level and not o.repeats]
        if not failed:
            continue
        checks = {check.name for check in kata.checks if check.level == level}
        entries = [m for m in kata.mistakes if m.level == level]
        found = [name for o in failed if (name := o.mistake)]
        evidence, sound = matching.judged(
            registry.solution(kata.name).reference(), [r for r in records if r[0] in checks]
        )
        found += [m for m in _recognise(kata.name, entries, evidence, sound, found) if m not in found]
        core_fails = any(o.outcome == "failed" and o.level == "core" for o in outcomes)
        if not (found if level == "core" else core_fails):  # else the check may have failed for that very cause
            found += [name for name in _by_check(entries, failed, level == "core") if name not in found]
        named |= {m.name: Named(m.name, m.kind, m.says, m.look) for m in kata.mistakes if m.name in found}
        if not found and level == "core" and evidence:
            remark = _nearest(kata.name, entries, evidence)
    return Diagnosis(tuple(named.values()), remark)


def _by_check(entries: list[Mistake], failed: list[Outcome], first: bool) -> list[str]:
    """The mistakes that stand for failed checks: in the core for the first, whose failure may be behind the others."""
    checks = [o.check for o in failed][: 1 if first else None]
    return [m.name for m in entries if m.check in checks]


def _recognise(
    name: str, entries: list[Mistake], evidence: list[Evidence], sound: list[Evidence], found: list[str]
) -> list[str]:
    """One mistake when one fits. A pair when none does, or when one fits but leaves more to explain than rounding."""
    if not evidence:
        return []
    solution = registry.solution(name)
    singles = _fitting(solution, (((m.name,), form) for m in entries for form in m.forms), evidence, sound)
    strong = _best(f for f in singles if f.fit.match == "values")
    weak = _best(f for f in singles if f.fit.match == "pattern")
    if any(f.fit.left <= EXACT for f in strong):
        return _names(strong)
    if not strong and len(_names(weak)) == 1:
        return _names(weak)
    known = set(_names(strong) or found)
    likely = _pairs(solution, entries, known, evidence, sound)
    pairs = _best(f for f in _fitting(solution, likely, evidence, sound) if f.fit.match == "values")
    if strong:
        pairs = [f for f in pairs if f.fit.left <= EXACT]
    return sorted(set.intersection(*(set(f.names) for f in pairs))) if pairs else _names(strong)


def _names(fitting: list[Fitting]) -> list[str]:
    return sorted({name for f in fitting for name in f.names})


def _best(fitting: Iterable[Fitting]) -> list[Fitting]:
    """Of several that fit, those that explain all but rounding, if there are any."""
    every = list(fitting)
    return [f for f in every if f.fit.left <= EXACT] or every


def _pairs(
    solution: registry.Solution,
    entries: list[Mistake],
    known: set[str],
    evidence: list[Evidence],
    sound: list[Evidence],
) -> Iterator[tuple[Names, Form]]:
    """Two forms of two mistakes that touch different lines; with a mistake `known`, only pairs with one such.

    The small calls sift them: where the submission is wrong, so must one of the two be on its own, and where it is
    right, not one alone may be wrong. To ask each mistake is much less work than to ask each pair.
    """
    forms = [(m.name, form, solution.places(form), solution.reference(form)) for m in entries for form in m.forms]
    few, calm = evidence[:SIFTED], sorted(sound, key=lambda e: e.right.size)[:SIFTED]
    wrong = [{n for n, e in enumerate(few) if not matching.is_right(f, e)} for *_, f in forms]
    false = [{n for n, e in enumerate(calm) if not matching.is_sound(f, [e])} for *_, f in forms]
    for one, other in itertools.combinations(range(len(forms)), 2):
        (a, first, here, _), (b, second, there, _) = forms[one], forms[other]
        if a == b or here & there or (known and not {a, b} & known):
            continue
        if len(wrong[one] | wrong[other]) == len(few) and not false[one] ^ false[other]:
            yield (a, b), (*first, *second)


def _fitting(
    solution: registry.Solution,
    tried: Iterable[tuple[Names, Form]],
    evidence: list[Evidence],
    sound: list[Evidence],
) -> list[Fitting]:
    """Those that contradict no answer, each with how it fits."""
    fitting = []
    for names, form in tried:
        with contextlib.suppress(ValueError):  # the one patch of a pair may write what the other looks for
            functions = solution.reference(form)
            fit = matching.fit(functions, evidence)
            if fit.match != "contradicts" and matching.is_sound(functions, sound):
                fitting.append(Fitting(names, form, fit))
    return fitting


def _nearest(name: str, entries: list[Mistake], evidence: list[Evidence]) -> str:
    """Honest words when nothing matches: the entry that is at least NEAR times closer than the right answer, if any."""
    ranked = []
    solution = registry.solution(name)
    for mistake in entries:
        for form in mistake.forms:
            ratio = matching.ratio(solution.reference(form), evidence)
            if ratio is not None:
                ranked.append((ratio, mistake))
    if not ranked:
        return "no known mistake matches"
    _, mistake = min(ranked, key=lambda pair: pair[0])
    return f"no known mistake matches; the nearest is {mistake.name}: {mistake.says}"
