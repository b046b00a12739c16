"""Where an interview takes place: its folder with the candidate's files, their snapshots, and its judge."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import attempts, outline, plant, report, stubs
from harness.clock import gap
from harness.grade import Grading
from harness.history import Event, History
from harness.interview import Interview, interviews
from harness.judge import Judge
from harness.model import Report
from harness.source import Unreadable, read

DEBUG = "This is somebody's first version. It runs, and what it gives is wrong: find out\nwhy, and mend it."
SEEN = 30.0  # seconds between two words in the history that the clock runs
SNAPSHOT = 0.5  # seconds between two looks at the files
GRACE = 1.0  # seconds: a save at the last moment has the file system's own time stamp


class Refused(Exception):
    """What cannot be done, in words for the candidate."""


def running(history: History) -> Interview | None:
    """The interview that is not over yet, if there is one."""
    return next((i for i in reversed(interviews(history.events("mock")).values()) if not i.ended), None)


def start(history: History, kind: str, questions: Sequence[str], minutes: float, seed: int, **facts: Any) -> int:
    """Open an interview with a folder of its own; its number. Refused while another one is running."""
    with history.locked():
        other = running(history)
        if other:
            raise Refused(
                f"interview {other.id} is running: go on with `kata mock resume`, or end it: `kata mock stop`"
            )
        number = max(interviews(history.events("mock")), default=0) + 1
        folder, number = _new_folder(history, number)
        moment = history.clock()
        history.append(
            "mock",
            id=number,
            do="start",
            clock=list(moment),
            kind=kind,
            questions=list(questions),
            minutes=minutes,
            folder=str(folder),
            seed=seed,
            **facts,
        )
    return number


def _new_folder(history: History, number: int) -> tuple[Path, int]:
    day = datetime.fromtimestamp(history.clock().wall).date().isoformat()
    problem: OSError | None = None
    for parent in (outline.ROOT / "mock", history.folder / "mock"):
        with contextlib.suppress(FileExistsError):
            try:
                parent.mkdir(parents=True, exist_ok=True)
                while True:
                    folder = parent / f"{day}-{number}"
                    with contextlib.suppress(FileExistsError):
                        folder.mkdir()
                        return folder, number
                    number += 1
            except OSError as error:
                problem = problem or error
    raise Refused(f"no folder for the interview can be made in {outline.ROOT / 'mock'}: {problem}")


class Room:
    """One interview, while it runs and after it."""

    def __init__(self, history: History, number: int) -> None:
        self.history, self.number = history, number
        self._judge: Judge | None = None
        self._kept: dict[str, bytes] = {}
        self._closed = threading.Event()
        self._saving = threading.Lock()
        for kata in self.interview.questions:
            with contextlib.suppress(Unreadable):
                self._kept[kata] = read(self._copy(kata))

    @property
    def interview(self) -> Interview:
        """The interview as the history has it now, another terminal's commands included."""
        found = interviews(e for e in self.history.events("mock") if e.get("id") == self.number)
        if self.number not in found:
            raise Refused(f"the record of interview {self.number} is gone from {self.history.path}")
        return found[self.number]

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.interview.left(self.history.clock())

    def file(self, kata: str) -> Path:
        """The candidate's file for a question."""
        return Path(self.interview.folder, f"{kata}.py")

    def _copy(self, kata: str) -> Path:
        return self.history.folder / "mocks" / str(self.number) / f"{kata}.py"

    def add(self, do: str, **facts: Any) -> Event:
        """Record one thing of this interview."""
        return self.history.append("mock", id=self.number, do=do, clock=list(self.history.clock()), **facts)

    def place(self) -> Path:
        """Put the file of the question on the table into the folder, unless it is there."""
        now = self.interview
        path = self.file(now.kata)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            attempts.write(path, self._kept.get(now.kata) or self._handed(now).encode())
        self.save()
        return path

    def _handed(self, now: Interview) -> str:
        """What the candidate gets: a stub with the short prompt, planted code, or a stub below their own block."""
        kata, stub = now.kata, outline.stub(now.kata)
        if kata in now.planted:
            words = f"{stubs.spoken(stub)}\n\n{DEBUG}"
            with contextlib.suppress(LookupError, ValueError):  # the catalogue has changed since
                return stubs.with_prompt(words, plant.planted(kata, now.planted[kata]))
        code, before = stubs.bare(stub), now.questions[now.current - 1] if now.current else ""
        if now.kind == "panel" and before == "pre_ln_block":
            with contextlib.suppress(Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
                code = stubs.carried(stub, (self._kept.get(before) or read(self.file(before))).decode())
        return stubs.with_prompt(stubs.spoken(stub, short=True), code)

    def watch(self) -> None:
        """Take snapshots from now on, whatever else this terminal is busy with, until the room is closed."""
        threading.Thread(target=self._watching, daemon=True).start()

    def _watching(self) -> None:
        while not self._closed.wait(SNAPSHOT):
            with contextlib.suppress(Refused):
                self._snap()

    def save(self) -> None:
        """Take a snapshot of every file that has changed, as long as the time runs."""
        self._snap()
        now = self.interview
        if now.ended or now.used(self.history.clock()) >= now.limit:
            return
        for kata in now.planted:
            self._mended(kata)
        if now.used(self.history.clock()) - now.elapsed >= SEEN:
            self.add("seen")  # whatever happens to the clocks, this much of the time is used up

    def _snap(self) -> None:
        now = self.interview
        for kata in () if now.paused or now.ended else now.questions:
            with contextlib.suppress(Unreadable):
                source = read(self.file(kata))
                if now.used(self.history.clock()) < now.limit:
                    self._keep(kata, source)

    def _keep(self, kata: str, source: bytes) -> None:
        with self._saving:
            if self._kept.get(kata) == source:
                return
            self._kept[kata] = source
            try:
                self._copy(kata).parent.mkdir(parents=True, exist_ok=True)
                attempts.write(self._copy(kata), source)
            except OSError as error:
                self.history.problem = self.history.problem or f"{self._copy(kata)}: {error.strerror or error}"

    def _mended(self, kata: str) -> None:
        """Record which planted mistakes are gone from a file since the last look."""
        picks = self.interview.planted[kata]
        with contextlib.suppress(LookupError, ValueError):
            left = plant.left(kata, picks, self.final(kata))
            known = {m for did in self.interview.did("mended", kata=kata) for m in did.facts["mistakes"]}
            mended = [name for name, _ in picks if name not in left and name not in known]
            if mended and kata in self._kept:
                self.add("mended", kata=kata, mistakes=mended)

    def settle(self) -> tuple[list[str], bool]:
        """The last snapshot: which files were changed after the time, and whether that is unsure.

        A file that was changed after the time, while nobody watched, counts as it was last seen. Where somebody set the
        wall clock meanwhile, its time stamp tells nothing, and the file counts as it stands.
        """
        now, moment = self.interview, self.history.clock()
        over = now.elapsed + (0.0 if now.paused else gap(now.last, moment)) - now.limit
        drift = (moment.wall - now.last.wall) - gap(now.last, moment)
        late, unsure = [], False
        for kata in now.questions:
            with contextlib.suppress(Unreadable, OSError):
                source, about = read(self.file(kata)), os.stat(self.file(kata))
                saved = max(about.st_mtime, about.st_ctime)  # the second cannot be set by hand
                if over <= GRACE or saved <= moment.wall - over + GRACE:
                    self._keep(kata, source)
                elif source != self._kept.get(kata) and (abs(drift) > SEEN or saved > moment.wall + GRACE):
                    self._keep(kata, source)
                    unsure = True
                elif source != self._kept.get(kata):
                    late.append(kata)
        for kata in now.planted:
            self._mended(kata)
        return late, unsure

    def differs(self, kata: str) -> bool:
        """Whether a file is not as it was last seen."""
        with contextlib.suppress(Unreadable):
            return read(self.file(kata)) != self._kept.get(kata)
        return False

    def final(self, kata: str) -> bytes:
        """What is graded of a question."""
        return self._kept.get(kata, outline.stub(kata).encode())

    @property
    def judge(self) -> Judge:
        """One judge for the whole interview."""
        if self._judge is None:
            self._judge = Judge()
        return self._judge

    def close(self) -> None:
        """End the judge's processes, and the snapshots."""
        self._closed.set()
        self.restart()

    def restart(self) -> None:
        """End the judge's processes; the next grading starts new ones."""
        if self._judge:
            self._judge.close()
            self._judge = None

    def grade(self, kata: str, source: bytes) -> Report:
        """Grade a source as the answer to a question."""
        grading = Grading(self.judge, kata, self.file(kata), source, self.interview.seed)
        try:
            return grading.report(report.place(self.file(kata), 1).rpartition(":")[0])
        finally:
            grading.close()
