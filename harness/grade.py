"""One check gives an Outcome; one submission gives a Report. The plugin and `kata grade` both go through here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness import expect, outline, probe, registry, stubs
from harness.calls import Remembered
from harness.judge import Judge, Session
from harness.kata import Check, Kata
from harness.model import Answer, Call, Outcome, Raised, Report, Verdict, Wrong
from harness.source import Unreadable, read

if TYPE_CHECKING:
    from harness.diagnose import Diagnosis


class Grading:
    """The grading of one submission, check by check: outcomes are kept, the worker starts with the first check."""

    def __init__(self, judge: Judge, name: str, path: Path, source: bytes, seed: int) -> None:
        self.kata: Kata = registry.kata(name)
        self.line = 1 + (stubs.defined_at(source, self.kata.functions[0]) or 0)
        self.untouched = outline.untouched(name, source)
        self._judge, self._path, self.source, self._seed = judge, path, source, seed
        self.reference = Remembered(registry.solution(name).reference(), registry.wanted(name), judge.calls)
        self._session: Session | None = None
        self._outcomes: dict[str, Outcome] = {}
        self._diagnosis: Diagnosis | None = None
        self._shown: str = ""

    def prepare(self) -> Session | None:
        """Start the worker, without waiting for it; there is none for a stub."""
        if self._session is None and not self.untouched:
            source_path, name = self._path.resolve(), self.kata.name
            self._session = self._judge.open(source_path, self.source, name, registry.wanted(name))
        return self._session

    @property
    def records(self) -> Sequence[tuple[str, Call, Answer]]:
        """Every call with its answer, by the check that made it."""
        return self._session.records if self._session else ()

    def run(self, check: Check) -> Outcome:
        """The outcome of one check, run once."""
        if check.name not in self._outcomes:
            self._outcomes[check.name] = self._run(check)
        return self._outcomes[check.name]

    def run_all(self) -> tuple[Outcome, ...]:
        """Every check, in file order."""
        return tuple(self.run(check) for check in self.kata.checks)

    def diagnosis(self) -> Diagnosis:
        """The mistakes behind the failures; runs the checks that have not run yet."""
        if self._diagnosis is None:
            from harness.diagnose import diagnose  # only a failure needs it

            outcomes = self.run_all()
            self._diagnosis = diagnose(self.kata, outcomes, self.records)
        return self._diagnosis

    def _run(self, check: Check) -> Outcome:
        session = self.prepare()
        if session is None:
            return Outcome(check.name, check.title, check.level, "not started", "not started")
        cause = session.loaded().broken or session.dead
        if cause or session.misfit:
            return self._whole_kata(check, session, cause)
        start, printed = time.perf_counter(), len(session.prints)
        rng = probe.generator(self._seed, self.kata.name, check.name)
        session.check = check.name
        outcome = Outcome(check.name, check.title, check.level, "passed")
        try:
            check.function(session, self.reference, rng)
        except Wrong as wrong:
            outcome = _failed(check, wrong)
        except Exception as error:
            says = f"this check itself failed ({type(error).__name__}: {error}): a fault of the kit, not of your code"
            outcome = Outcome(check.name, check.title, check.level, "error", says)
        session.drain()
        if session.dead:
            self._shown = str(session.dead)
            if outcome.outcome == "passed":  # the check did not mind, but the code did not survive it
                _, call, answer = next(record for record in session.records if record[2].raised is session.dead)
                outcome = _failed(check, expect.wrong(call, answer, f" {session.dead}"))
        return outcome._replace(seconds=time.perf_counter() - start, prints=session.prints[printed:])

    def _whole_kata(self, check: Check, session: Session, cause: Raised | None) -> Outcome:
        """A failure of the whole file, in full for the first check that meets it."""
        says = session.broken.text if session.broken and not session.broken.fatal else str(cause or session.misfit)
        repeats, self._shown = self._shown == says, says
        outcome = _failed(check, Wrong(says, answer=Answer(raised=session.broken)), repeats)
        title = check.title if session.dead else f"the file can be loaded as {self.kata.name}"
        return outcome._replace(title=title, prints="" if repeats else session.prints)

    def report(self, file: str, submitter: str = "") -> Report:
        """The whole submission, graded."""
        outcomes, name, session = self.run_all(), self.kata.name, self._session
        whole = Report(
            file,
            name,
            submitter,
            _verdict(outcomes),
            outcomes[0].says,
            line=self.line,
            seconds=session.seconds if session else 0.0,
            peak_bytes=session.peak_bytes if session else 0,
            isolation=session.isolation if session else (),
        )
        if session and session.broken:
            return whole._replace(verdict="broken", trace=session.broken)
        whole = whole._replace(outcomes=outcomes)
        if all(outcome.outcome == "passed" for outcome in outcomes):
            return whole
        found = self.diagnosis()
        return whole._replace(says=_says(outcomes, found), mistakes=found.mistakes, remark=found.remark)

    def close(self) -> None:
        """End the worker."""
        if self._session:
            self._session.close()


def _failed(check: Check, wrong: Wrong, repeats: bool = False) -> Outcome:
    return Outcome(
        check.name,
        check.title,
        check.level,
        "failed",
        wrong.says,
        wrong.shows,
        wrong.call,
        wrong.answer,
        wrong.mistake,
        repeats,
    )


def _says(outcomes: tuple[Outcome, ...], found: Diagnosis) -> str:
    """The one line that says most: the mistakes by name, or the first thing that is wrong."""
    if found.mistakes:
        return "; ".join(mistake.says for mistake in found.mistakes)
    core = [o.says for o in outcomes if o.level == "core" and o.outcome != "passed"]
    return (core or [o.says for o in outcomes if o.outcome != "passed"] or [""])[0]


def _verdict(outcomes: tuple[Outcome, ...]) -> Verdict:
    if all(o.outcome == "passed" for o in outcomes):
        return "strong"
    return "pass" if all(o.outcome == "passed" for o in outcomes if o.level == "core") else "fail"


def start(judge: Judge, name: str, path: Path, seed: int) -> Grading | Unreadable:
    """The grading of one file as one kata, whose worker starts to load; or why it cannot be read."""
    try:
        grading = Grading(judge, name, path, read(path), seed)
    except Unreadable as why:
        return why
    grading.prepare()
    return grading


def finish(grading: Grading | Unreadable, name: str, file: str, submitter: str = "") -> Report:
    """What became of it; `file` is how the report should call it."""
    if isinstance(grading, Unreadable):
        return Report(file, name, submitter, "broken", str(grading))
    try:
        return grading.report(file, submitter)
    finally:
        grading.close()


def grade(judge: Judge, name: str, path: Path, seed: int, file: str = "", submitter: str = "") -> Report:
    """Grade one file as one kata, from start to finish."""
    return finish(start(judge, name, path, seed), name, file or str(path), submitter)
