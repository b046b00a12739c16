"""`kata show`, `check`, `hint` and `solution`: the prompt, the verdict, and help with it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from harness import outline, report, stubs
from harness.cli.common import STATUS, Commands, Usage, command, pick, practising
from harness.cli.grade import status
from harness.model import Report
from harness.practice import kata_file
from harness.schedule import PASSES
from harness.source import Unreadable, read

PRINTED = 10


def add(commands: Commands) -> None:
    """Add the four commands."""
    examples = ["kata show causal_mask          the whole prompt", "kata show cau --short          the interviewer's"]
    show = command(commands, "show", _show, "print the prompt of a kata", examples)
    show.add_argument("name", metavar="NAME", help="the kata; a part of its name will do")
    show.add_argument("--short", action="store_true", help="leave out what an interviewer leaves out")

    examples = ["kata check                     all that you have started", "kata check cau soft            these two"]
    examples.append("kata check cau --seed 7        on other drawn inputs")
    check = command(commands, "check", _check, "grade your files in katas/", examples, epilog=STATUS)
    check.add_argument("names", nargs="*", metavar="NAME", help="the katas (default: every one that is started)")
    check.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the drawn inputs (default 0)")
    check.add_argument("--json", action="store_true", help="print one JSON document and nothing else")

    hint = command(
        commands,
        "hint",
        _hint,
        "the next of three hints, aimed at your mistake when it is recognised",
        ["kata hint causal_mask          one hint; again for the next"],
    )
    hint.add_argument("name", metavar="NAME", help="the kata")

    solution = command(
        commands,
        "solution",
        _solution,
        "the solution, after a pass or when asked for twice",
        ["kata solution causal_mask"],
    )
    solution.add_argument("name", metavar="NAME", help="the kata")


def _show(options: argparse.Namespace) -> int:
    name = pick(options.name)
    with practising(options) as practice:
        practice.refuse_in_mock(name)
        print(stubs.prompt(outline.stub(name), options.short))
        print(f"\nWrite it in {place(name)}")
    return 0


def _check(options: argparse.Namespace) -> int:
    if options.seed < 0:
        raise Usage("a seed is a whole number from 0")
    with practising(options) as practice:
        names = [pick(word) for word in options.names] or _started()
        names = names or [practice.to_write(practice.states()) or outline.names()[0]]
        for name in names:
            practice.refuse_in_mock(name)
        reports = [practice.check(name, "check", options.seed) for name in dict.fromkeys(names)]
        if options.json:
            print(json.dumps(report.document(reports, options.seed), indent=2))
            return status(reports)
        print("\n\n".join(told(one) for one in reports))
        failing = [one.kata for one in reports if one.verdict not in PASSES]
        if failing:
            print(f"\nA hint: kata hint {failing[0]}")
    return status(reports)


def _started() -> list[str]:
    """The katas whose file is there and is no stub."""
    found = []
    for name in outline.names():
        try:
            left = outline.untouched(name, read(kata_file(name)))
        except Unreadable:  # which the verdict will say
            left = not kata_file(name).exists()
        found += [] if left else [name]
    return found


def told(graded: Report) -> str:
    """A verdict, as pytest says it, and below it what the person's own code printed where it fails first."""
    failed = next((o for o in graded.outcomes if o.outcome == "failed" and o.level == "core"), None)
    if failed is None or not failed.prints.strip():
        return report.verdict(graded)
    lines = [line[: report.WIDTH - 2] for line in failed.prints.strip().splitlines()]
    more = [f"[... {len(lines) - PRINTED} more lines]"] if len(lines) > PRINTED else []
    return "\n".join([report.verdict(graded), "", "You printed", *(f"  {line}" for line in lines[:PRINTED] + more)])


def _hint(options: argparse.Namespace) -> int:
    name = pick(options.name)
    with practising(options) as practice:
        graded, hint = practice.hint(name)
        if graded.verdict == "broken":
            print(report.verdict(graded) + "\n")
        if hint is None:
            print(f"{name} passes every check: there is nothing left to hint at.")
            return 0
        passes = graded.verdict in PASSES
        about = f", about {hint.about}" if hint.about else ""
        opening = f"{name} passes. A follow-up is still open. " if passes else ""
        print(f"{opening}Hint {hint.number} of {hint.of}{about}:\n{_wrapped(hint.text.splitlines())}")
        if hint.repeated and not passes:
            print(f"\nThat was the last hint. The solution: kata solution {name}")
    return 0


def _wrapped(lines: Iterable[str]) -> str:
    return "\n".join(line if line.startswith("  ") else report.wrap(line, report.width()) for line in lines)


def _solution(options: argparse.Namespace) -> int:
    name = pick(options.name)
    with practising(options) as practice:
        source = practice.solution(name)
        if source is not None:
            print(source, end="")
            return 0
        print(f"{name} has not passed in this attempt. A hint instead: kata hint {name}")
        if practice.history.problem:
            print(f"That you asked cannot be saved. The solution lies in {outline.SOLUTIONS / f'{name}.py'}")
        else:
            print("Ask again to see it all the same: the pass then puts the kata back into box 1.")
    return 1


def place(name: str) -> str:
    """Where the person writes: `katas/causal_mask.py:31`, a link in most terminals."""
    path = outline.KATAS / f"{name}.py"
    line = stubs.defined_at(outline.stub(name).encode(), outline.outline(name).functions[0]) or 0
    return report.place(path, line + 1)
