"""A graded class for people: a table, and how many made which mistake. It reads the results of the JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Result = dict[str, Any]
GOOD = ("strong", "pass")
SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COLUMNS = ("submission", "kata", "verdict", "core", "time", "memory")


def name(result: Result) -> str:
    """Who handed it in, or else its file."""
    return str(result["submitter"] or result["file"])


def core(result: Result, level: str = "core") -> tuple[int, int]:
    """How many checks of a level pass, and how many there are."""
    checks = [check for check in result["checks"] if check["level"] == level]
    return sum(check["outcome"] == "passed" for check in checks), len(checks)


def mistakes(result: Result) -> list[str]:
    """The names of the mistakes."""
    return [mistake["name"] for mistake in result["mistakes"]]


def why(result: Result) -> str:
    """The mistakes of a submission that does not pass, or what else is wrong with it, in one line."""
    if result["verdict"] in GOOD:
        return ""
    said = ", ".join(mistakes(result)) if result["verdict"] == "fail" else ""
    return said or " ".join(str(result["says"]).split())


def counted(results: Sequence[Result]) -> list[tuple[str, str, int, int, str]]:
    """The mistakes by frequency: the kata, the mistake, how many of how many made it, and its words."""
    of = Counter(result["kata"] for result in results)
    made = Counter((r["kata"], m["name"], m["says"]) for r in results for m in r["mistakes"])
    ranked = sorted(made.items(), key=lambda item: (-item[1], item[0]))
    return [(kata, mistake, count, of[kata], says) for (kata, mistake, says), count in ranked]


def spelt(count: int) -> str:
    """A small number in words."""
    return SMALL[count] if count < len(SMALL) else str(count)


def summary(results: Sequence[Result]) -> str:
    """How many submissions there are of each verdict."""
    verdicts = Counter(result["verdict"] for result in results)
    counts = [f"{verdicts[v]} {v}" for v in ("strong", "pass", "fail", "broken") if verdicts[v]]
    return f"{len(results)} submission{'' if len(results) == 1 else 's'}: {', '.join(counts) or 'none graded'}"


def memory(result: Result) -> str:
    """The peak of its process."""
    return f"{result['peak_bytes'] >> 20} MiB" if result["peak_bytes"] else "-"


def table(results: Sequence[Result], width: int) -> str:
    """A row for each submission, what is wrong below it; then the mistakes by frequency."""
    rows = [COLUMNS, *map(_row, results)]
    sizes = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines: list[str] = []
    for row, result in zip(rows, [None, *results], strict=True):
        lines.append("  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip())
        if result and (said := why(result)):
            lines.append(_cut(f"    {said}", width))
    lines += ["", summary(results)]
    for kata, mistake, count, of, _ in counted(results)[:12]:
        lines.append(_cut(f"  {count} of {of}  {kata}: {mistake}", width))
    return "\n".join(lines)


def _row(result: Result) -> tuple[str, ...]:
    passed, total = core(result)
    return (
        _cut(name(result), 30),
        result["kata"] or "-",
        result["verdict"],
        f"{passed}/{total}" if total else "-",
        f"{result['seconds']:.2f} s",
        memory(result),
    )


def _cut(text: str, width: int) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= width else f"{plain[: width - 3]}..."
