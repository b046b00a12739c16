"""`kata` alone: every kata on one screen, and one suggestion."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from harness import outline
from harness.cli.common import practising
from harness.interview import clocked
from harness.practice import Next
from harness.schedule import Standing

VERSION = 1
WIDTH = 80
OPTIONAL = ("last done", "tries")  # what a narrow window does without, in this order
WHY = {
    "failing": "{kata} does not pass yet",
    "due": "{kata} is due again",
    "new": "{kata} is new",
    "mock": "an interview is running",
    "": "nothing is left for today; an interviewer's questions are",
}


def run(options: argparse.Namespace) -> int:
    """Print the dashboard."""
    with practising(options) as practice:
        states = practice.states()
        standings, todo = practice.standings(), practice.next(states)
        if options.json:
            print(json.dumps(_document(states, standings, todo), indent=2))
        else:
            print("\n".join(_screen(states, standings, todo, practice.today)))
    return 0


def _document(states: Mapping[str, str], standings: Mapping[str, Standing], todo: Next) -> dict[str, Any]:
    """The JSON of the dashboard: {"version", "katas", "next"}."""
    return {
        "version": VERSION,
        "katas": [
            {
                "kata": name,
                "track": outline.outline(name).track,
                "state": state,
                "mistakes": list(standings[name].mistakes) if state == "failing" else [],
                "attempts": standings[name].attempts,
                "best_seconds": standings[name].best,
                "par_seconds": 60 * outline.outline(name).minutes,
                "last": _iso(standings[name].last),
                "box": standings[name].box,
                "due": _iso(standings[name].due),
            }
            for name, state in states.items()
        ],
        "next": {"kata": todo.kata, "why": todo.why, "command": todo.command},
    }


def _screen(states: Mapping[str, str], standings: Mapping[str, Standing], todo: Next, today: date) -> Iterator[str]:
    """The lines of the screen."""
    width = min(WIDTH, shutil.get_terminal_size().columns)
    rows = [_row(name, state, standings[name], today) for name, state in states.items()]
    passing = sum(state in ("passing", "strong") for state in states.values())
    due = sum(s.due is not None and s.due <= today for s in standings.values())
    yield f"{passing} of {len(states)} passing · {due} due · kata --help says how it works"
    (head, *lines), track = _table(rows, width), 0
    for (name, state), line in zip(states.items(), lines, strict=True):
        if outline.outline(name).track != track:
            track = outline.outline(name).track
            yield ""
            yield f"track {track}{head[len(f'track {track}') :]}"
        yield line
        if state == "failing":
            for mistake in standings[name].mistakes:
                yield f"    {mistake}"[:width]
    yield ""
    yield f"Next: {WHY[todo.why].format(kata=todo.kata)}. Type"
    yield f"  {todo.command}"


def _row(name: str, state: str, standing: Standing, today: date) -> dict[str, str]:
    best = "-" if standing.best is None else clocked(standing.best)
    return {
        "kata": name,
        "state": state,
        "tries": str(standing.attempts or "-"),
        "best / par": f"{best} / {outline.outline(name).minutes} min",
        "last done": ago(standing.last, today),
        "due": _when(standing.due, today),
    }


def _table(rows: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """The rows below their head, with as many columns as there is room for."""
    columns = list(rows[0])
    for dropped in ("", *OPTIONAL):
        columns = [column for column in columns if column != dropped]
        widths = {c: max(len(c), *(len(row[c]) for row in rows)) for c in columns}
        if sum(widths.values()) + 2 * len(columns) <= width:
            break
    head = {column: "" if column == "kata" else column for column in columns}
    lines = ("  " + "  ".join(row[c].ljust(widths[c]) for c in columns) for row in (head, *rows))
    return [line.rstrip() for line in lines]


def ago(day: date | None, today: date) -> str:
    """`today`, `yesterday`, `3 days ago`, or `-`."""
    days = (today - day).days if day else -1
    return "-" if day is None else "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def _when(day: date | None, today: date) -> str:
    days = (day - today).days if day else 0
    return "-" if day is None else "due" if days <= 0 else "tomorrow" if days == 1 else f"in {days} days"


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None
