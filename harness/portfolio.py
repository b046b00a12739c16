"""Everything that the report shows, as data in JSON's types: where each kata stands, its last attempt, the interviews.

What an interview that is running asks for stays hidden: its katas' attempts are left out.
"""

from __future__ import annotations

import ast
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import attempts, debrief, gallery, outline, registry, report, sidebyside
from harness.grade import Grading
from harness.history import Event
from harness.interview import Interview, clocked, interviews
from harness.judge import Judge
from harness.mock import Mock
from harness.model import Report
from harness.practice import Practice, kata_file
from harness.schedule import PASSES, Standing, in_mock
from harness.source import Unreadable, read

VERSION = 1
LONGEST, WIDEST = 40_000, 1000  # characters of a file, and of a line, that are aligned with the solution
UNPARSED = (SyntaxError, ValueError, RecursionError, MemoryError)
STRANGE = (KeyError, TypeError, ValueError, AttributeError, ImportError, OSError)


def document(practice: Practice, judge: Judge) -> dict[str, Any]:
    """The whole report."""
    history = practice.history
    hidden = in_mock(history.events("mock"))
    states = practice.states()
    standings, todo = practice.standings(), practice.next(states)
    return {
        "version": VERSION,
        "day": practice.today.isoformat(),
        "next": {"kata": todo.kata, "why": todo.why, "command": todo.command},
        "katas": [_standing(practice, standings[name], state) for name, state in states.items()],
        "attempts": [_last(judge, name, standings[name], name in hidden) for name in states],
        "times": times(history.events("interviewed")),
        "interviews": _interviews(practice),
        "quiz": quiz(history.events("quiz")),
        "damaged": len(history.damaged),
    }


def _standing(practice: Practice, standing: Standing, state: str) -> dict[str, Any]:
    """One row of the progress."""
    about = outline.outline(standing.kata)
    return {
        "kata": standing.kata,
        "track": about.track,
        "state": state,
        "attempts": standing.attempts,
        "best": None if standing.best is None else clocked(standing.best),
        "par": f"{about.minutes} min",
        "last": standing.last.isoformat() if standing.last else None,
        "box": standing.box,
        "due": standing.due.isoformat() if standing.due else None,
        "due_now": standing.due is not None and standing.due <= practice.today,
    }


def _last(judge: Judge, name: str, standing: Standing, hidden: bool) -> dict[str, Any]:
    """The last attempt at a kata: what stands in katas/, or what was kept last; `source` is None when there is none."""
    base = {"kata": name, "hidden": hidden, "source": None}
    if hidden:
        return base
    for path, label in _places(name):
        try:
            source = read(path)
        except Unreadable as why:
            if path.exists():
                return base | {"source": "", "file": label, "verdict": "broken", "says": str(why)}
            continue
        if not outline.untouched(name, source):
            return base | attempt(judge, name, path, source) | {"file": label, "shown": standing.shown}
    return base


def _places(name: str) -> list[tuple[Path, str]]:
    kept = attempts.kept(name)
    last = [(kept[number], f"attempt {number}") for number in sorted(kept)[-1:]]
    return [(kata_file(name), f"katas/{name}.py"), *last]


def attempt(judge: Judge, name: str, path: Path, source: bytes, seed: int = 0) -> dict[str, Any]:
    """One source graded: verdict, mistakes, what failed first, the pictures, and the solution to compare with."""
    grading = Grading(judge, name, path, source, seed)
    try:
        graded = grading.report(path.name)
        session = grading.prepare()
        usable = session and not (session.broken or session.dead or session.misfit)
        drawn = gallery.gallery(name, session) if session and usable else []
    finally:
        grading.close()
    text = source.decode("utf-8", "backslashreplace")
    return {
        "source": _below_the_prompt(text),
        "compared": _compared(text, registry.solution(name).source),
        "passed": graded.verdict in PASSES,
        "pictures": list(drawn),
        **_graded(graded),
    }


def _graded(graded: Report) -> dict[str, Any]:
    """What a report says, in the words that `kata check` has for it."""
    core = [o for o in graded.outcomes if o.level == "core"]
    failed = [o for o in core if o.outcome != "passed" and not o.repeats]
    later = [o for o in graded.outcomes if o.level == "follow-up" and o.outcome == "failed" and not o.repeats]
    first = failed[0] if failed else None
    return {
        "verdict": graded.verdict,
        "says": graded.says,
        "core": [sum(o.outcome == "passed" for o in core), len(core)],
        "mistakes": [{"name": m.name, "kind": m.kind, "says": m.says, "look": m.look} for m in graded.mistakes],
        "remark": graded.remark if first and not graded.mistakes else "",
        "failed": {"title": first.title, "says": first.says, "shows": list(first.shows)} if first else None,
        "also": [o.title for o in failed[1:]],
        "open": [o.title for o in later],
        "prints": first.prints if first else "",
    }


def _below_the_prompt(source: str) -> str:
    """The code without the text that the file begins with, which is the prompt."""
    try:
        first = ast.parse(source).body[:1]
    except UNPARSED:
        return source
    said = first and isinstance(first[0], ast.Expr) and isinstance(first[0].value, ast.Constant)
    return "\n".join(source.split("\n")[first[0].end_lineno :]).lstrip("\n") if said else source


def _compared(yours: str, theirs: str) -> list[dict[str, Any]]:
    """The code beside the solution, function by function; empty when it is no Python, or too long to align."""
    if len(yours) > LONGEST or max(map(len, yours.splitlines()), default=0) > WIDEST:
        return []
    try:
        found = sidebyside.parts(yours, theirs)
    except UNPARSED:
        return []
    return [{"name": part.name, "same": part.same, "rows": [list(row) for row in part.rows]} for part in found]


def times(events: list[Event]) -> list[dict[str, Any]]:
    """How long each question of the interviews took; one of strange facts is left out."""
    found = []
    for event in events:
        try:
            seconds, par = float(event["seconds"]), float(event["par"])
            if not (0 <= seconds < 1e6 and 0 < par < 1e6) or event.get("kind") == "debug":
                continue
            found.append(
                {
                    "date": datetime.fromisoformat(event["at"]).astimezone().date().isoformat(),
                    "kata": str(event["kata"]),
                    "seconds": seconds,
                    "par": par,
                    "passed": event.get("verdict") in PASSES,
                    "words": f"{clocked(seconds)} of {clocked(par)}",
                }
            )
        except STRANGE:
            continue
    return found


def quiz(events: list[Event]) -> list[dict[str, Any]]:
    """What was answered in the quiz, the last time that each question was asked, the newest first."""
    last = {str(e.get("question")): e for e in events}
    newest = sorted(last.values(), key=lambda e: str(e["at"]), reverse=True)
    keys = ("kata", "question", "answer")
    return [{**{k: str(e.get(k, "")) for k in keys}, "rating": e.get("rating"), "model": ""} for e in newest]


def _interviews(practice: Practice) -> list[dict[str, Any]]:
    """The debriefs, the newest first; `running` stands for one that has not ended."""
    found = []
    for number, now in reversed(interviews(practice.history.events("mock")).items()):
        running = {"id": number, "running": True, "questions": [], "started": now.started, "kind": now.kind}
        found.append(_debrief(practice, now) if now.ended else running)
    return found


def _debrief(practice: Practice, now: Interview) -> dict[str, Any]:
    """A debrief; `damaged` when its events do not make one."""
    try:
        room = Mock(practice.history, now.id)
        try:
            return {**debrief.document(room), "running": False, "damaged": False}
        finally:
            room.close()
    except STRANGE:
        return {"id": now.id, "running": False, "damaged": True, "questions": [], "started": now.started}


def interview(room: Mock) -> dict[str, Any]:
    """The report of one interview that has ended: its debrief, and each question's file as it was graded."""
    whole, now = debrief.document(room), room.interview
    parts, hidden = [], in_mock(room.history.events("mock"))
    for name in now.questions:
        source = room.final(name)
        file = report.place(room.file(name), 1).rpartition(":")[0]
        part: dict[str, Any] = {"kata": name, "hidden": name in hidden, "source": None, "file": file}
        if name not in hidden and not outline.untouched(name, source):
            part |= attempt(room.judge, name, room.file(name), source, now.seed) | {"shown": False}
        parts.append(part)
    return {
        "version": VERSION,
        "day": room.history.events("mock")[-1]["at"][:10],
        "interview": {**whole, "running": False, "damaged": False},
        "attempts": parts,
    }
