"""Proves a kata's checks: right answers pass, each mistake is named by its own name, and nothing is left to luck.

The sources are the kit's own: the solution, the solution with each mistake, and the right variants in `tests/variants`.
So they may run in this process (`inside`), on many seeds; one seed of each goes through the real door as well.
"""

from __future__ import annotations

import doctest
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness import lines, margins, outline, registry, stubs
from harness.grade import Grading
from harness.inside import Inside
from harness.judge import Judge
from harness.kata import Mistake
from harness.model import Report
from harness.template import TODO

VARIANTS = outline.ROOT / "harness" / "tests" / "variants"
FACTOR = 10.0  # how far from every tolerance each answer must lie, on either side
DOOR = 0  # the seed that goes through the real door


class Seeds(NamedTuple):
    """How many seeds each source is judged on: the solution, and each mistake and variant."""

    solution: int = 200
    others: int = 5


THOROUGH = Seeds(200, 50)


class Case(NamedTuple):
    """A source and what has to become of it: it makes a mistake, or it is right."""

    label: str
    source: str
    mistake: Mistake | None = None
    number: int = 0


class Margins(NamedTuple):
    """Differences over tolerances: the largest that a right answer shows, the smallest by which a wrong one is told."""

    right: float = 0.0
    wrong: float = math.inf

    def join(self, other: Margins) -> Margins:
        """Of both."""
        return Margins(max(self.right, other.right), min(self.wrong, other.wrong))


class Proof(NamedTuple):
    """What was tried for one kata, and what does not hold, in words for its author."""

    kata: str
    checks: int
    mistakes: int
    forms: int
    variants: int
    graded: int
    margins: Margins
    problems: tuple[str, ...]


def cases(name: str) -> Iterator[Case]:
    """The solution, every form of every mistake, every right variant."""
    solution = registry.solution(name)
    yield Case("the solution", solution.source)
    for mistake in registry.kata(name).mistakes:
        for number, form in enumerate(mistake.forms):
            label = mistake.name if len(mistake.forms) == 1 else f"{mistake.name} (form {number + 1})"
            yield Case(label, solution.patched(form), mistake, number)
    for path in sorted((VARIANTS / name).glob("*.py")):
        yield Case(f"variants/{name}/{path.name}", path.read_text(encoding="utf-8"))


def prove(name: str, seeds: Seeds) -> Proof:
    """Try everything for one kata."""
    problems = shape(name)  # while something is missing, nothing else is worth trying
    graded, lain, first, ran = 0, Margins(), set[str](), lines.Ran(outline.CHECKS / f"{name}.py")
    every = list(cases(name)) if not problems else []
    with Judge() as door:
        inside = Inside()
        for case in every:
            found: list[str] = []
            for seed in range(seeds.others if case.mistake or case.label != "the solution" else seeds.solution):
                with ran.watched(seed == 0), margins.watched() as seen:
                    report = _report(inside, name, case, seed)
                found = judged(case, report)
                lain = lain.join(_margins(case, seen))
                first |= _first(case, report) if seed == 0 else set()
                graded += 1
                if found:
                    found = [f"{line} (seed {seed})" for line in found]
                    break
            problems += found or [f"{line} (through the real door)" for line in judged(case, _report(door, name, case))]
            graded += 1
    if every:
        problems += _idle(name, first, ran)
        problems += _narrow(lain)
    kata = registry.kata(name)
    forms = sum(len(mistake.forms) for mistake in kata.mistakes)
    variants = sum(case.label.startswith("variants/") for case in every)
    return Proof(name, len(kata.checks), len(kata.mistakes), forms, variants, graded, lain, tuple(problems))


def shape(name: str) -> list[str]:
    """What is missing before anything can be tried, one step at a time, in the order in which to do it."""
    solution, checks = (_written(folder / f"{name}.py") for folder in (outline.SOLUTIONS, outline.CHECKS))
    steps = (solution, _examples(name), _stub(name), checks, _content(name))
    return next((found for step in steps if (found := list(step))), [])


def _written(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if TODO in line:
            yield f"{path.relative_to(outline.ROOT)}:{number}: {line.partition(TODO)[2].strip()}"


def _examples(name: str) -> Iterator[str]:
    """The visible examples that the solution does not give, with what it gives instead."""
    solution, heard = registry.solution(name), list[str]()
    scope = vars(solution.reference()) | {"np": np}
    test = doctest.DocTestParser().get_doctest(stubs.prompt(solution.source), scope, name, None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=heard.append)
    for text in heard:
        said = text.partition("Failed example:\n")[2].strip()
        yield f"solutions/{name}.py: an example of the prompt is not true: {said}"


def _stub(name: str) -> Iterator[str]:
    if outline.stub(name) != (outline.KATAS / f"{name}.py").read_text(encoding="utf-8"):
        yield f"katas/{name}.py is not the stub of the solution: `kata reset {name}` makes it so"


def _content(name: str) -> Iterator[str]:
    kata, checks = registry.kata(name), f"harness/checks/{name}.py"
    counts = (("mistake", kata.mistakes, 5), ("hint", kata.hints, 3), ("term", kata.terms, 3))
    for what, have, least in (*counts, ("question", kata.questions, 3)):
        if len(have) < least:
            yield f"{checks} has {len(have)} of the {least} {what}s that a kata needs: KATA.{what}(...)"
    for mistake in kata.mistakes:
        for form in mistake.forms:
            try:
                compile(registry.solution(name).patched(form), f"<{name}>", "exec")
            except (ValueError, SyntaxError) as why:
                yield f"{checks}: mistake {mistake.name}: {why}"


def judged(case: Case, report: Report) -> list[str]:
    """What is wrong with a verdict, in words for the author."""
    errors = [
        f"{case.label}: the check {o.check} itself fails: {o.says}" for o in report.outcomes if o.outcome == "error"
    ]
    if errors:
        return errors[:1]
    if case.mistake is None:
        level = "core" if case.label.startswith("variants/") else ""
        bad = [o for o in report.outcomes if o.outcome != "passed" and o.level.startswith(level)]
        return (
            [f"{case.label} is refused by {bad[0].check}: {bad[0].says}"] if bad or report.verdict == "broken" else []
        )
    failed = [o.level for o in report.outcomes if o.outcome == "failed"]
    named = [mistake.name for mistake in report.mistakes]
    if case.mistake.level == "follow-up" and "core" in failed:
        return [f"mistake {case.label} is catalogued as a follow-up, and fails the core"]
    if case.mistake.level not in failed:
        return [f"mistake {case.label} passes: no {case.mistake.level} check tells it from the solution"]
    if named != [case.mistake.name]:
        return [f"mistake {case.label} is named {' and '.join(named) or 'by no name'}, should be {case.mistake.name}"]
    return []


def _report(judge: Judge, name: str, case: Case, seed: int = DOOR) -> Report:
    if isinstance(judge, Inside):
        form = case.mistake.forms[case.number] if case.mistake else ()
        judge.functions = None if case.label.startswith("variants/") else registry.solution(name).reference(form)
    path = Path(f"{name}.py") if isinstance(judge, Inside) else outline.SOLUTIONS / f"{name}.py"
    grading = Grading(judge, name, path, case.source.encode(), seed)
    try:
        return grading.report(case.label)
    finally:
        grading.close()


def _margins(case: Case, seen: margins.Seen) -> Margins:
    if case.mistake is None:
        return Margins(right=seen.near)
    return Margins(wrong=seen.far or math.inf)  # else it was told by a shape, a dtype or an exception


def _first(case: Case, report: Report) -> set[str]:
    """The check whose message a person with this mistake reads."""
    level = case.mistake.level if case.mistake else ""
    return {o.check for o in [o for o in report.outcomes if o.outcome == "failed" and o.level == level][:1]}


def _idle(name: str, first: set[str], ran: lines.Ran) -> Iterable[str]:
    for check in registry.kata(name).checks:
        if check.name not in first:
            yield f"the check {check.name} is the first to fail for no catalogued mistake: add one, or drop the check"
    for number in ran.missing():
        yield f"harness/checks/{name}.py:{number} never runs, whatever is graded"


def _narrow(margins: Margins) -> Iterable[str]:
    if margins.right * FACTOR > 1:
        yield f"a right answer lies {margins.right:.2g} of a tolerance away: less than a factor of {FACTOR:g}"
    if margins.wrong < FACTOR:
        yield f"a mistake is told by {margins.wrong:.2g} tolerances alone: less than a factor of {FACTOR:g}"
