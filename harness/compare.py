"""A submission beside the solution, as data. `compare` gives the JSON document; whoever prints reads only that.

{"version": 1, "kata", "file", "seed", "verdict", "says", "line",
 "mistakes": [{"name", "kind", "says", "look"}],
 "state": "compared"; else what follows is left out: "not started", "broken", or "ended" (a call did not come back; then
     the code is there),
 "agreement": [{"function" (f[0], f[1] where it gives several), "input": "float64" or "float32" ("given" where there are
     no floats), "calls", "agree",
     "absolute", "relative": the largest differences, relative to the largest entry of the right answer,
     "other": how many answers are not finite where they should be, or raise, or have a wrong shape,
     "worst": the call of the largest difference, or of the first that cannot be measured}],
 "returns": [{"function", "input", "yours", "solution"}], each as {"dtype", "layout": "C", "F" or "strided", "shape"},
 "speed": [{"function", "sizes": [{"tokens", "seconds", "solution_seconds", "ratio"}], "growth", "solution_growth":
     the exponents with which the time grows from the second size to the third}],
 "memory": [{"function", "tokens", "bytes", "solution_bytes", "ratio"}], peaks of what a call allocates,
 "notes": [{"function", "kind", "line", "says"}],
 "sanity": [{"function", "who": "yours" or "solution", "of", "low", "high", "mean", "nan", "infinite",
     "row_sums": [low, high], "above": the share of the weight above the diagonal, or null}],
 "departure": {"agree", "stage", "says"}, "shapes": [{"function", "steps": the table of harness.stages}],
 "pictures": what harness.pictures draws,
 "code": [{"name", "rows": [[mark, yours, theirs]]}], [] when it is too long, null when it is not to be shown}

Ratios are above 1 where the submission takes more. What could not be measured is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import course, gallery, outline, registry, sidebyside, stages
from harness.agreement import agreement, by_output, returns, sanity
from harness.answers import clean
from harness.craft import Asked, Held, held, notes
from harness.grade import Grading
from harness.judge import Judge
from harness.model import Answer, Call, Report
from harness.sizes import LONGEST, SHORTEST, Sizes, has_floats, narrowed, recorded
from harness.source import Unreadable, read
from harness.timing import PATIENCE, Pair, growth, side_by_side

VERSION = 1
LONGEST_CODE, WIDEST_CODE = 40_000, 1000  # characters of a file, and of a line, that are aligned
QUICK = 0.05  # seconds of a call that is also traced line by line
TOKENS = (SHORTEST, 4 * SHORTEST, LONGEST)


def compare(
    judge: Judge,
    name: str,
    path: Path,
    seed: int = 0,
    file: str = "",
    tokens: Sequence[str] = (),
    head: int | None = None,
    layer: int | None = None,
) -> tuple[dict[str, Any], Report]:
    """Everything that differs between a file and the solution, and the grading behind it."""
    try:
        grading = Grading(judge, name, path, read(path), seed)
    except Unreadable as why:
        report = Report(file or str(path), name, "", "broken", str(why))
        return _head(report, seed, "broken"), report
    try:
        report = grading.report(file or str(path))
    finally:
        grading.close()
    document = _head(report, seed, _state(grading, report))
    if document["state"] == "compared":
        with side_by_side(judge, name, path, grading.source) as pair:
            document |= _measured(pair, name)
            document["departure"] = stages.departure(name, pair.yours)
            steps = [(c.function, stages.table(name, pair.yours, c)) for c in course.calls(name)]
            document["shapes"] = [{"function": function, "steps": table} for function, table in steps]
            document["pictures"] = list(gallery.gallery(name, pair.yours, tokens, head, layer))
    if document["state"] in ("compared", "ended"):
        document["code"] = _code(name, grading.source)
    return document, report


def _state(grading: Grading, report: Report) -> str:
    if grading.untouched:
        return "not started"
    if report.verdict == "broken":
        return "broken"
    ended = any(answer.raised and answer.raised.fatal for _, _, answer in grading.records)
    return "ended" if ended else "compared"


def _head(report: Report, seed: int, state: str) -> dict[str, Any]:
    mistakes = [{"name": m.name, "kind": m.kind, "says": m.says, "look": m.look} for m in report.mistakes]
    head = {"version": VERSION, "kata": report.kata, "file": report.file, "seed": seed, "verdict": report.verdict}
    return {**head, "says": report.says, "line": report.line, "mistakes": mistakes, "state": state}


def _measured(pair: Pair, name: str) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {
        part: [] for part in ("agreement", "returns", "speed", "memory", "notes", "sanity")
    }
    for function in registry.kata(name).functions:
        sizes, asked = Sizes(name, function), list[tuple[Call, Answer, Answer]]()
        calls = [call for call in recorded(name) if call.function == function]
        for kind, cases in _inputs(calls, sizes):
            answers = [(c, yours, theirs) for c, (yours, theirs) in zip(cases, pair.both(cases), strict=True)]
            for label, some in by_output(function, answers).items():
                found["agreement"].append({"function": label, "input": kind, **agreement(some)})
                found["returns"] += returns(label, kind, some)
            asked += answers
        if any(one["other"] < one["calls"] for one in found["agreement"] if one["function"].startswith(function)):
            _costs(pair, sizes, asked, found)
        for label, some in by_output(function, asked[: len(calls) + 1]).items():
            found["sanity"] += sanity(label, some)
    return found


def _costs(pair: Pair, sizes: Sizes, asked: Asked, found: dict[str, list[dict[str, Any]]]) -> None:
    """Time, memory and craft of a function, some of whose answers are like the solution's: else they tell nothing."""
    function, speed = sizes.base.function, _speed(pair, sizes)
    quick = all((row["seconds"] or PATIENCE) < QUICK for row in speed["sizes"][:2])
    memory = held(pair, sizes, TOKENS[1] if sizes.grows and quick else TOKENS[0])
    found["speed"].append({"function": function, **speed})
    found["memory"] += _memory(memory, function)
    found["notes"] += [{"function": function, **note._asdict()} for note in notes(pair, sizes, asked, memory)]


def _inputs(calls: Sequence[Call], sizes: Sizes) -> list[tuple[str, list[Call]]]:
    """The same calls in float64 and in float32; as they are where there are no floats. A larger one ends them."""
    cases = [*calls, *(call for call in [sizes.call(9)] if call)]
    if not any(map(has_floats, cases)):
        return [("given", cases)]
    return [("float64", cases), ("float32", [narrowed(call) for call in cases])]


def _speed(pair: Pair, sizes: Sizes) -> dict[str, Any]:
    """Medians at three lengths, the longest beyond 2d + f; at one size where there are no tokens."""
    rows: list[dict[str, Any]] = []
    for tokens in TOKENS if sizes.grows else TOKENS[:1]:
        call = sizes.call(tokens)
        known = [row["seconds"] for row in rows]
        expected = (known[-1] or 1e9) * 9 if known else 0.0
        timed = pair.timed(call, expected) if call else None
        if timed is None:
            break
        row = {"tokens": tokens, "seconds": timed.yours, "solution_seconds": timed.solution, "ratio": timed.ratio}
        rows.append(row)
    lengths = [row["tokens"] for row in rows]
    exponents = [growth(lengths, [row[side] for row in rows]) for side in ("seconds", "solution_seconds")]
    return {"sizes": rows, "growth": exponents[0], "solution_growth": exponents[1]}


def _memory(found: Held | None, function: str) -> list[dict[str, Any]]:
    if not found or min(found.yours.peak, found.solution.peak) <= 0:
        return []
    yours, theirs = found.yours.peak, found.solution.peak
    return [
        {
            "function": function,
            "tokens": found.tokens,
            "bytes": yours,
            "solution_bytes": theirs,
            "ratio": yours / theirs,
        }
    ]


def _code(name: str, source: bytes) -> list[dict[str, Any]]:
    solution = (outline.SOLUTIONS / f"{name}.py").read_text(encoding="utf-8")
    text = source.decode("utf-8", "backslashreplace")
    if len(text) > LONGEST_CODE or max(map(len, text.splitlines()), default=0) > WIDEST_CODE:
        return []
    try:
        found = sidebyside.parts(text, solution)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what runs may still be in an odd encoding
        return []
    return [{"name": clean(part.name), "rows": [_printable(row) for row in part.rows]} for part in found]


def _printable(row: sidebyside.Row) -> list[str | None]:
    """A row without what would steer a terminal."""
    return [row.mark, None if row.yours is None else clean(row.yours), row.theirs]
