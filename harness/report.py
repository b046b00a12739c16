"""Results as text for a person and as JSON for a program. One screen, 80 columns, no colour needed."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.model import Named, Outcome, Raised, Report

VERSION = 1
WIDTH = 78
MAX_LINES = 24


def failure(
    outcome: Outcome, mistakes: Sequence[Named], remark: str, path: Path, line: int, brief: bool = False
) -> str:
    """Why one check failed: the property, what came back, the mistake by name, and the person's own traceback.

    `brief` is for the later failures of a kata whose mistake has been named, or whose exception has been shown.
    """
    if brief:
        return f"{wrap(outcome.title)}\n{indent(wrap(outcome.says, WIDTH - 2))}"
    raised = outcome.answer.raised if outcome.answer else None
    blocks = [f"{wrap(outcome.title)}\n{place(path, _line(raised, path, line))}", indent(wrap(outcome.says, WIDTH - 2))]
    blocks += [mistake(named) for named in mistakes]
    blocks += [indent(_cut(show), 4) for show in outcome.shows]
    blocks += [_warned(outcome, path), _trace(raised, path, outcome.says)]
    if remark and not mistakes and (outcome.answer is None or _is_result(outcome.answer.value)):
        blocks.append(wrap(f"{remark[:1].upper()}{remark[1:]}."))
    return "\n\n".join(block for block in blocks if block)


def _is_result(value: Any) -> bool:
    """Whether an answer holds numbers, with which a mistake could have been recognised."""
    return hasattr(value, "shape") or isinstance(value, float | tuple | list)


def mistake(named: Named) -> str:
    """A recognised mistake: its name, why it is wrong, where to look."""
    lead = "right under another contract, wrong under this one: " if named.kind == "convention" else ""
    end = "" if named.look.endswith("?") else "."
    look = f"\n{indent(wrap(f'Look at: {named.look}{end}', WIDTH - 2))}" if named.look else ""
    return wrap(f"{named.name}: {lead}{named.says}.") + look


def place(path: Path, line: int) -> str:
    """`path:line`, which terminals and editors turn into a link; relative where that is shorter to read."""
    full = Path(os.path.realpath(path))
    shown = os.path.relpath(full) if full.is_relative_to(Path.cwd()) else str(full)
    return f"{shown}:{line}"


def width() -> int:
    """How wide a text may be in this terminal."""
    return max(40, min(WIDTH, shutil.get_terminal_size().columns - 2))


def wrap(text: str, width: int = WIDTH) -> str:
    """Prose in lines of at most `width`; an over-long message of the person's own is cut."""
    short = text if len(text) <= 600 else f"{text[:600]} [...]"
    return "\n".join(textwrap.fill(part, width, break_on_hyphens=False) for part in short.splitlines() or [""])


def indent(text: str, by: int = 2) -> str:
    """The text moved to the right."""
    return textwrap.indent(text, " " * by)


def _cut(text: str) -> str:
    """A block that fits: prose is wrapped, a row of a picture is cut."""
    lines: list[str] = []
    for line in text.splitlines():
        if len(line) <= WIDTH - 4 or "  " in line.strip():
            lines.append(line if len(line) <= WIDTH - 4 else f"{line[: WIDTH - 10]} [...]")
        else:
            lines += textwrap.wrap(line, WIDTH - 4, break_on_hyphens=False)
    return "\n".join(lines[:MAX_LINES])


def _line(raised: Raised | None, path: Path, line: int) -> int:
    own = [frame.line for frame in raised.frames if frame.path == str(path.resolve())] if raised else []
    return own[-1] if own else line


def _warned(outcome: Outcome, path: Path) -> str:
    warnings = outcome.answer.warnings if outcome.answer else ()
    lines = [f"{w.category}: {w.message}" + (f" ({place(path, w.line)})" if w.line else "") for w in warnings]
    shown = [indent(wrap(line, WIDTH - 2)) for line in dict.fromkeys(lines)]
    return "\n".join(["Your code gave a warning", *shown[:3]]) if shown else ""


def _trace(raised: Raised | None, path: Path, said: str) -> str:
    """The person's own traceback, and where to look first when the error comes from another of their files."""
    if raised is None or not raised.frames:
        return ""
    lines = ["Your traceback"]
    for frame in raised.frames:
        lines.append(f"  {place(Path(frame.path), frame.line)}" + (f" in {frame.function}" if frame.function else ""))
        lines.append(f"    {frame.source.strip()[: WIDTH - 4]}")
    if raised.text not in said:
        lines.append(indent(wrap(raised.text, WIDTH - 2)))
    last = Path(raised.frames[-1].path)
    if last != path.resolve():
        lines += ["", wrap(f"The error comes from {last.name}, which {path.name} uses: finish that file first.")]
    return "\n".join(lines)


def _some(text: str) -> list[str]:
    return [text] if text else []


def open_follow_ups(name: str, outcomes: Iterable[Outcome], detailed: bool) -> list[str]:
    """The follow-ups that a submission does not meet yet, and how it showed."""
    lines = []
    for o in outcomes:
        if o.level == "follow-up" and o.outcome == "failed" and not o.repeats:
            lines.append(textwrap.fill(f"{name}: {o.title}", WIDTH, initial_indent="  ", subsequent_indent="    "))
            if detailed:
                lines.append(indent(wrap(textwrap.shorten(o.says, 2 * WIDTH - 20, placeholder=" [...]"), WIDTH - 6), 6))
    return lines


def verdict(report: Report) -> str:
    """One graded submission for a person."""
    core = [o for o in report.outcomes if o.level == "core"]
    passed = sum(o.outcome == "passed" for o in core)
    head = f"{report.file}: {report.verdict.upper()}" + (f" as {report.kata}" if report.kata else "")
    lines = [head + (f", {passed} of {len(core)} core checks pass" if core else "")]
    if report.verdict == "broken":
        return "\n".join(
            [*lines, indent(wrap(report.says, WIDTH - 2)), *_some(_trace(report.trace, Path(report.file), report.says))]
        )
    if all(o.outcome == "not started" for o in report.outcomes):
        return f"{report.file}: NOT STARTED as {report.kata}, the file is still the stub"
    wrong = [o for o in core if o.outcome != "passed" and not o.repeats]
    if wrong:
        lines += ["", failure(wrong[0], report.mistakes, report.remark, Path(report.file), report.line)]
    if wrong[1:]:
        lines += ["", "These checks fail too, often for the same reason:"]
        lines += [textwrap.fill(o.title, WIDTH, initial_indent="  ", subsequent_indent="    ") for o in wrong[1:]]
    follow = open_follow_ups(report.kata, report.outcomes, detailed=not wrong)
    if follow:
        lines += ["", "follow-ups still open (they never turn a pass into a fail)", *follow]
        lines += [mistake(named) for named in report.mistakes if not wrong]
    return "\n".join(lines)


def document(reports: Sequence[Report], seed: int) -> dict[str, Any]:
    """The JSON of a grading run."""
    return whole([result(report) for report in reports], seed)


def whole(results: Sequence[dict[str, Any]], seed: int, skipped: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The JSON of a grading run, from its results: {"version", "seed", "results", "skipped"}."""
    return {
        "version": VERSION,
        "seed": seed,
        "results": list(results),
        "skipped": [{"file": file, "why": why} for file, why in skipped],
    }


def result(report: Report) -> dict[str, Any]:
    """One graded submission as the JSON holds it."""
    return {
        "file": report.file,
        "kata": report.kata,
        "submitter": report.submitter,
        "verdict": report.verdict,
        "says": report.says,
        "mistakes": [{"name": m.name, "kind": m.kind, "says": m.says, "look": m.look} for m in report.mistakes],
        "remark": report.remark,
        "checks": [
            {
                "name": o.check,
                "title": o.title,
                "level": o.level,
                "outcome": o.outcome,
                "says": o.says,
                "shows": list(o.shows),
            }
            for o in report.outcomes
        ],
        "seconds": round(report.seconds, 4),
        "peak_bytes": report.peak_bytes,
        "isolation": list(report.isolation),
    }
