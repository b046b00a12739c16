"""When to practise which kata again: five boxes, as Leitner had them, over the graded facts of the history."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from harness.history import Event

DAYS = (1, 2, 4, 7, 14)
RULE = """\
Every kata lies in a box, from 1 to 5. It comes due after 1, 2, 4, 7 or 14 days
there. The first pass ever puts it into box 1. Once it is due, the first pass of
an attempt moves it one box up; with a hint, or over the par time in a mock, it
stays in its box for another round. Before it is due, a pass moves nothing. A
failed mock, or a pass after the solution was shown, puts it back into box 1.
What to do next: first what fails, then what is due (the longest first), then
what is new, in order."""
PASSES = ("pass", "strong")


@dataclass(frozen=True)
class Standing:
    """What the history tells of one kata: its box (0 before the first pass), `moved` into it on that (local) day."""

    kata: str
    attempts: int = 0
    box: int = 0
    last: date | None = None
    moved: date | None = None
    best: float | None = None
    hints: int = 0
    asked: int = 0
    shown: bool = False
    passed: bool = False
    tried: bool = False
    lost: bool = False
    digest: str = ""
    verdict: str = ""
    mistakes: tuple[str, ...] = ()

    @property
    def due(self) -> date | None:
        """The day it should be practised again; None before the first pass."""
        return self.moved + timedelta(DAYS[self.box - 1]) if self.moved and self.box else None


def standings(events: Iterable[Event], names: Iterable[str]) -> dict[str, Standing]:
    """Where every kata stands after these events; an event with strange facts is passed over."""
    found = {name: Standing(name) for name in names}
    for event in events:
        name = event.get("kata")
        if isinstance(name, str) and name in found:
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                found[name] = step(found[name], event)
    return found


def step(now: Standing, event: Event) -> Standing:
    """One event's effect on its kata. Events: check, hint, solution, reset, restore, interviewed."""
    match event["event"]:
        case "reset" | "restore":  # what is brought back was counted when it was made
            passed = event.get("verdict") in PASSES
            clean = replace(now, hints=0, asked=0, shown=False, digest="")
            return replace(clean, passed=passed, tried=bool(event.get("verdict")))
        case "hint":
            return replace(now, hints=now.hints + 1)
        case "solution":
            return replace(now, asked=now.asked + 1, shown=now.shown or bool(event.get("shown")))
        case "check":
            return _checked(now, event)
        case "interviewed":
            return _interviewed(now, event)
    return now


def _checked(now: Standing, event: Event) -> Standing:
    now = replace(
        now,
        attempts=now.attempts + (not now.tried),
        tried=True,
        digest=str(event.get("digest", "")),
        verdict=str(event.get("verdict", "")),
        mistakes=tuple(map(str, event.get("mistakes", ()))),
        last=_day(event),
    )
    if now.passed or now.verdict not in PASSES:
        return now
    return replace(_moved(now, back=now.shown, stay=now.hints > 0), passed=True, lost=False)


def _interviewed(now: Standing, event: Event) -> Standing:
    """A mock's result: `verdict`, `seconds` used for this kata, `par` in seconds, `hints` taken."""
    now = replace(now, last=_day(event))
    if event.get("kind") == "debug":  # to mend code is not to write it
        return now
    passed, seconds, par = event.get("verdict") in PASSES, _number(event.get("seconds")), _number(event.get("par"))
    slow = seconds > par
    best = min(seconds, now.best or seconds) if passed else now.best
    return _moved(
        replace(now, attempts=now.attempts + 1, best=best, lost=not passed),
        not passed,
        slow or bool(event.get("hints")),
    )


def _number(value: object) -> float:
    """A number of seconds; 0 for what is none, since a history is a file in which anything may stand."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0.0


def _moved(now: Standing, back: bool, stay: bool) -> Standing:
    """The kata after a result of the day `last`: back in box 1, in its box for another round, or one box up."""
    if now.due and now.last and now.last < now.due and not back:
        return now
    box = 1 if back else max(1, now.box if stay else min(now.box + 1, len(DAYS)))
    return replace(now, box=box, moved=now.last)


def _day(event: Event) -> date:
    return datetime.fromisoformat(event["at"]).astimezone().date()


def suggestion(standings: Mapping[str, Standing], states: Mapping[str, str], today: date) -> tuple[str, str]:
    """What to do next, as (kata, why): why is 'failing', 'due', 'new', or '' when all is done for today.

    `states` holds what stands in katas/ now: 'todo', 'missing', 'failing', 'broken', 'passing' or 'strong'.
    """
    wrong = ("failing", "broken")
    failing = [n for n, s in states.items() if s in wrong or (s == "todo" and standings[n].lost)]
    if failing:
        return max(failing, key=lambda name: standings[name].last or date.min), "failing"
    due = [s for s in standings.values() if s.due and s.due <= today]
    if due:
        return min(due, key=lambda s: s.due or today).kata, "due"
    new = [name for name, state in states.items() if state in ("todo", "missing") and not standings[name].box]
    return (new[0], "new") if new else ("", "")


def in_mock(events: Iterable[Event]) -> set[str]:
    """The katas of the interviews that are running: those that were started and have not ended."""
    running: dict[str, list[str]] = {}
    for event in events:
        number, questions = str(event.get("id")), event.get("questions")
        if event.get("do") == "start" and isinstance(questions, list):
            running[number] = list(map(str, questions))
        elif event.get("do") == "end":
            running.pop(number, None)
    return {name for names in running.values() for name in names}
