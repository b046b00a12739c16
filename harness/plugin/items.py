"""A kata file and its checks as pytest items, their failure text, and the closing summary."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout

from harness import forge, registry, report, stubs, wire
from harness.grade import Grading, Unreadable, read
from harness.judge import UNLIMITED, Judge, Limits
from harness.model import Check, Outcome
from harness.plugin import FORGE


@dataclass
class Run:
    """What the items of one pytest run share: one judge, one grading a file, and what has been said already."""

    judge: Judge
    seed: int
    gradings: dict[Path, Grading] = field(default_factory=dict)
    explained: set[Path] = field(default_factory=set)
    outcomes: dict[Path, list[Outcome]] = field(default_factory=dict)

    def grading(self, path: Path) -> Grading:
        """The grading of a file, started at the first check."""
        if path not in self.gradings:
            self.gradings[path] = Grading(self.judge, path.stem, path, read(path), self.seed)
        return self.gradings[path]


RUN = pytest.StashKey[Run]()


def run_of(config: pytest.Config) -> Run:
    """The run's shared state, made at the first need."""
    if RUN not in config.stash:
        if FORGE not in config.stash:
            config.stash[FORGE] = forge.Forge(live=config.getoption("capture") == "no")
        limits = UNLIMITED if pytest_timeout.is_debugging() else Limits()
        config.stash[RUN] = Run(Judge(limits, config.stash[FORGE]), config.getoption("--kata-seed"))
        config.add_cleanup(config.stash[RUN].judge.close)
        config.pluginmanager.register(Summary(config.stash[RUN]), "kata-summary")
    return config.stash[RUN]


class Failed(Exception):
    """A failed check on its way to pytest; its text is the whole message."""


class KataFile(pytest.File):
    """One file in katas/. It is read for its lines, never imported."""

    def collect(self) -> Iterator[CheckItem]:
        """An item for each hidden check."""
        if not registry.is_kata(self.path.stem):
            return
        kata = registry.kata(self.path.stem)
        try:
            line = stubs.defined_at(read(self.path), kata.functions[0]) or 0
        except Unreadable as why:
            raise self.CollectError(f"{self.path}: {why}") from None
        for check in kata.checks:
            yield CheckItem.from_parent(self, name=check.name, check=check, line=line)


class CheckItem(pytest.Item):
    """One hidden check of one kata."""

    def __init__(self, *, check: Check, line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.check, self.line = check, line

    def runtest(self) -> None:
        """Run the check; a follow-up that is not met is an expected failure."""
        run = run_of(self.config)
        outcome = run.grading(self.path).run(self.check)
        run.outcomes.setdefault(self.path, []).append(outcome)
        if outcome.prints:
            self.add_report_section("call", "stdout", outcome.prints)
        if outcome.outcome == "passed":
            return
        if outcome.outcome == "not started" or outcome.repeats:
            reason = "not started" if outcome.outcome == "not started" else f"not run: {outcome.says}"
            raise pytest.skip.Exception(reason, _use_item_location=True)
        if outcome.outcome == "failed" and outcome.level == "follow-up":
            pytest.xfail(outcome.says)
        raise Failed(self.explain(run, outcome))

    def explain(self, run: Run, outcome: Outcome) -> str:
        """The failure's text; the first failure of a kata says what the mistake is."""
        if outcome.outcome == "error":
            return f"{outcome.says}\nPlease report it, with the seed {run.seed}."
        found, told = run.grading(self.path).diagnosis(), self.path in run.explained
        run.explained.add(self.path)
        named, remark = ((), "") if told else (found.mistakes, found.remark)
        brief = told and bool(found.mistakes)
        return report.failure(outcome, named, remark, self.path, run.grading(self.path).line, brief)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The message alone: no option prints a hidden check."""
        return str(excinfo.value) or excinfo.typename

    def reportinfo(self) -> tuple[Path, int, str]:
        """The person's function is where a check lives, as far as they are concerned."""
        return self.path, self.line, f"{self.path.stem}: {self.check.name}"

    def debug(self) -> None:
        """Run the failing call again under pdb, in a process that owns the terminal."""
        grading = run_of(self.config).grading(self.path)
        outcome = grading.run(self.check)
        function, args = (outcome.call.function, outcome.call.args) if outcome.call else ("", ())
        with tempfile.TemporaryDirectory() as folder:
            frame = Path(folder, "call")
            frame.write_bytes(wire.pack(args))
            words = forge.command("replay", str(self.path), self.path.stem, function, str(frame))
            subprocess.run(words, env=forge.environment(), check=False)


class KataPdb:
    """In the place of pytest's own --pdb: a kata's failure opens in the person's code, anything else as ever."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def pytest_exception_interact(
        self, node: pytest.Item, call: pytest.CallInfo[Any], report: pytest.TestReport
    ) -> None:
        """Stop in the code of the person whose check failed."""
        if not isinstance(node, CheckItem):
            self._original.pytest_exception_interact(node, call, report)
            return
        capture = node.config.pluginmanager.getplugin("capturemanager")
        node.config.hook.pytest_timeout_cancel_timer(item=node)
        if capture:
            capture.suspend(in_=True)
        print(f"\n{report.longrepr}\n")
        node.debug()
        if capture:
            capture.resume()

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Pytest's own fault: as ever."""
        self._original.pytest_internalerror(excinfo)


class Summary:
    """The quiet lines of what is not started, the header's seed, and the closing summary."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._quiet: set[str] = set()

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """`not started` once a kata instead of a letter for each of its checks."""
        if not (report.skipped and isinstance(report.longrepr, tuple) and report.longrepr[2].endswith("not started")):
            return None
        file = report.nodeid.split("::")[0]
        letter = "" if file in self._quiet else "not started"
        self._quiet.add(file)
        return "skipped", letter, ("NOT STARTED", {"yellow": True})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Where the person stands, and what is next."""
        run, write = self._run, terminalreporter.write_line
        states = {path.stem: _state(outcomes) for path, outcomes in run.outcomes.items()}
        if not states:
            return
        follow = [line for path, o in run.outcomes.items() for line in report.open_follow_ups(path.stem, o)]
        terminalreporter.write_sep("-", "katas")
        if follow and not terminalreporter.config.option.verbose < 0:
            write("follow-ups still open (asked next; they never turn a pass into a fail)")
            for line in follow:
                write(line)
        write(f"seed {run.seed} (other inputs: --kata-seed N)")
        write(standing(states))


def _state(outcomes: list[Outcome]) -> str:
    core = [o.outcome for o in outcomes if o.level == "core"]
    if "not started" in core:
        return "not started"
    return "passing" if all(o == "passed" for o in core) else "failing"


def standing(states: dict[str, str]) -> str:
    """`1 of 6 passing · 1 failing · 4 not started · next: split_heads`."""
    count = {state: list(states.values()).count(state) for state in ("passing", "failing", "not started")}
    parts = [f"{count['passing']} of {len(states)} passing"]
    parts += [f"{count[state]} {state}" for state in ("failing", "not started") if count[state]]
    order = sorted(states, key=registry.names().index)
    waiting = [name for state in ("failing", "not started") for name in order if states[name] == state]
    return " · ".join(parts + ([f"next: {waiting[0]}"] if waiting else []))
