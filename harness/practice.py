"""The daily loop without its words on the screen: what stands in katas/, what it was graded, what is next.

Every command works on one `Practice`. Its judge starts with the first grading and stays warm for the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import attempts, outline, report, schedule
from harness.clock import Clock, system
from harness.history import History
from harness.model import Report
from harness.schedule import Standing
from harness.source import Unreadable, read

if TYPE_CHECKING:
    from harness.judge import Judge

STATES = {"strong": "strong", "pass": "passing", "fail": "failing", "broken": "broken"}


class Refused(Exception):
    """What cannot be done now; the text says why, and what to do instead."""


@dataclass(frozen=True)
class Next:
    """What to do next: the kata ('' when nothing is left for today), why, and the command to type."""

    kata: str
    why: str
    command: str


@dataclass(frozen=True)
class Hint:
    """A hint: its number from 1, of how many, and the mistake or follow-up that it is aimed at, if any."""

    number: int
    of: int
    text: str
    about: str = ""
    repeated: bool = False


class Practice:
    """The person's katas with their history; use it in a `with`, which ends the judge."""

    def __init__(self, clock: Clock = system) -> None:
        self.history = History(clock)
        self._judge: Judge | None = None

    def __enter__(self) -> Practice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the judge; the next grading starts another."""
        judge, self._judge = self._judge, None
        if judge:
            with contextlib.suppress(OSError):  # it has died already
                judge.close()

    @property
    def today(self) -> date:
        """The local day."""
        return datetime.fromtimestamp(self.history.clock().wall).date()

    def standings(self) -> dict[str, Standing]:
        """Where every kata stands, by the history."""
        return schedule.standings(self.history.events(), outline.names())

    def check(self, name: str, by: str, seed: int = 0) -> Report:
        """Grade what stands in katas/; record it unless it is known and nobody asked, or a stub, or unreadable."""
        try:
            source = read(kata_file(name))
        except Unreadable as why:
            return Report(_called(name), name, "", "broken", str(why))
        try:
            graded = self._grade(name, source, seed)
        except (OSError, struct.error):  # the warm process is gone, as when memory ran out: once more with a new one
            self.close()
            graded = self._grade(name, source, seed)
        known = by != "check" and digest(source) == self.standings()[name].digest
        if not known and not outline.untouched(name, source):
            record(self.history, graded, source, by)
        return graded

    def _grade(self, name: str, source: bytes, seed: int) -> Report:
        from harness.grade import Grading  # brings NumPy, with the judge
        from harness.judge import Judge

        self._judge = self._judge or Judge()
        grading = Grading(self._judge, name, kata_file(name), source, seed)
        try:
            return grading.report(_called(name))
        finally:
            grading.close()

    def states(self) -> dict[str, str]:
        """What stands in katas/, in the order of practice."""
        standings = self.standings()
        return {name: self.state(name, standings[name]) for name in outline.names()}

    def state(self, name: str, standing: Standing | None = None) -> str:
        """What stands in katas/: 'todo', 'missing', 'failing', 'broken', 'passing' or 'strong'.

        What has not been graded yet is graded now. A stub in the place of a file that was graded begins an attempt.
        """
        try:
            source = read(kata_file(name))
        except Unreadable:
            return "broken" if kata_file(name).exists() else "missing"
        standing = standing or self.standings()[name]
        if outline.untouched(name, source):
            if standing.tried:
                self.history.append("reset", kata=name, kept=None)
            return "todo"
        if digest(source) != standing.digest:
            return STATES[self.check(name, "kata").verdict]
        return STATES.get(standing.verdict, "failing")

    def next(self, states: Mapping[str, str]) -> Next:
        """The one suggestion."""
        if schedule.in_mock(self.history.events("mock")):
            return Next("", "mock", "kata mock resume")
        name, why = schedule.suggestion(self.standings(), states, self.today)
        if not name:
            return Next("", "", "kata quiz")
        again = states[name] == "missing" or (why == "due" and states[name] in ("passing", "strong"))
        return Next(name, why, f"kata {'reset' if again else 'watch'} {name}")

    def to_write(self, states: Mapping[str, str], besides: str = "") -> str:
        """The kata to work on next in its file, '' when there is none: the suggestion, unless that must be reset."""
        hidden = {besides, *schedule.in_mock(self.history.events("mock"))}
        left = {n: s for n, s in states.items() if s not in ("passing", "strong", "missing") and n not in hidden}
        standings = self.standings()
        return schedule.suggestion({name: standings[name] for name in left}, left, self.today)[0]

    def hint(self, name: str) -> tuple[Report, Hint | None]:
        """The next hint with the report that it is aimed by; None for a file that leaves nothing to hint at."""
        self.refuse_in_mock(name)
        from harness import hints, registry  # bring NumPy

        graded, kata = self.check(name, "hint"), registry.kata(name)
        about, texts = hints.aimed(kata, graded)
        if not texts:
            return graded, None
        given = self._given(name, about)
        number = min(given + 1, len(texts))
        mistake = about if about in {m.name for m in kata.mistakes} else ""
        self.history.append("hint", kata=name, number=number, mistake=mistake, about=about)
        return graded, Hint(number, len(texts), texts[number - 1], about, given >= len(texts))

    def solution(self, name: str) -> str | None:
        """The solution, after a pass in this attempt or when it is asked for again; else None."""
        self.refuse_in_mock(name)
        self.state(name)
        standing = self.standings()[name]
        shown = standing.passed or standing.asked > 0
        self.history.append("solution", kata=name, shown=shown)
        return (outline.SOLUTIONS / f"{name}.py").read_text(encoding="utf-8") if shown else None

    def reset(self, name: str) -> int | None:
        """Put the stub back; the number under which what stood there was kept. Refused when it cannot be kept."""
        number = self._put(name, outline.stub(name).encode())
        self.history.append("reset", kata=name, kept=number)
        return number

    def restore(self, name: str, number: int) -> int | None:
        """Bring a kept attempt back; the number under which what stood there was kept."""
        source = self.attempt(name, number)
        kept = self._put(name, source)
        verdict = self.verdicts(name).get(digest(source), "")
        self.history.append("restore", kata=name, number=number, kept=kept, verdict=verdict)
        return kept

    def attempt(self, name: str, number: int) -> bytes:
        """The source of a kept attempt."""
        self.refuse_in_mock(name)
        kept = attempts.kept(name)
        if number not in kept:
            raise Refused(f"there is no attempt {number} at {name}: kata attempts {name} lists them")
        try:
            return read(kept[number])
        except Unreadable as why:
            raise Refused(f"{kept[number]} {why}") from None

    def verdicts(self, name: str) -> dict[str, str]:
        """The last known verdict of every source, by its digest."""
        checks = (e for e in self.history.events("check") if e.get("kata") == name)
        return {str(e.get("digest")): str(e.get("verdict")) for e in checks}

    def refuse_in_mock(self, name: str) -> None:
        """Refused while an interview on this kata is running: its prompt and its help are the interviewer's."""
        if name in schedule.in_mock(self.history.events("mock")):
            raise Refused(f"a mock on {name} is running: finish it first (kata mock resume)")

    def _put(self, name: str, source: bytes) -> int | None:
        try:
            return attempts.put(name, source)
        except Unreadable as why:
            raise Refused(f"nothing was changed: katas/{name}.py {why}") from None
        except OSError as error:
            where = error.filename or attempts.folder(name)
            raise Refused(f"nothing was changed: {where}: {error.strerror or error}") from None

    def _given(self, name: str, about: str) -> int:
        """How many hints at one target this attempt has had."""
        count = 0
        for event in self.history.events("hint", "reset", "restore"):
            if event.get("kata") == name:
                hint = event["event"] == "hint"
                count = count + (event.get("about", "") == about) if hint else 0
        return count


def kata_file(name: str) -> Path:
    """The person's file."""
    return outline.KATAS / f"{name}.py"


def _called(name: str) -> str:
    """The person's file, as they would type it."""
    return report.place(kata_file(name), 1).rpartition(":")[0]


def digest(source: bytes) -> str:
    """What tells one source from another."""
    return hashlib.sha256(source).hexdigest()


def record(history: History, graded: Report, source: bytes, by: str) -> None:
    """Add a grading to the history; a fault of the kit says nothing of the kata."""
    if any(o.outcome == "error" for o in graded.outcomes):
        return
    core = [o.outcome == "passed" for o in graded.outcomes if o.level == "core"]
    facts: dict[str, Any] = {"verdict": graded.verdict, "mistakes": [m.name for m in graded.mistakes]}
    facts |= {"says": graded.says, "core": [sum(core), len(core)], "digest": digest(source), "by": by}
    history.append("check", kata=graded.kata, **facts, seconds=round(graded.seconds, 3))
