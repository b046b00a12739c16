"""A kata file and its checks as pytest items, and the closing summary."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from harness import outline, stubs
from harness.outline import CheckOutline
from harness.plugin import chosen
from harness.source import Unreadable, read

if TYPE_CHECKING:
    from harness.plugin.run import Run

SUMMARY = pytest.StashKey["Summary"]()
RUN = pytest.StashKey["Run"]()
NOT_STARTED = CheckOutline("not_started", "every check", "core")


def run_of(config: pytest.Config) -> Run:
    """The judge and the gradings of this pytest run, made at the first need."""
    if RUN not in config.stash:
        from harness.plugin.run import start  # brings NumPy and the judge

        config.stash[RUN] = start(config)
    return config.stash[RUN]


def summary_of(config: pytest.Config) -> Summary:
    """What the closing summary has heard so far."""
    if SUMMARY not in config.stash:
        config.stash[SUMMARY] = Summary(config)
        config.pluginmanager.register(config.stash[SUMMARY], "kata-summary")
    return config.stash[SUMMARY]


class Failed(Exception):
    """A failed check on its way to pytest: the whole message, and the one line that stands for it in a list."""

    def __init__(self, text: str, line: str) -> None:
        super().__init__(text)
        self.line = line


class Crash(NamedTuple):
    """Where a check failed and its one line, as pytest's short summary, `--tb=line` and JUnit ask for them."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        """The one line of `--tb=line`."""
        return f"{self.path}:{self.lineno}: {self.message}"


class Message:
    """What pytest shows of a failed check: the text alone, so that no option prints a hidden check."""

    def __init__(self, text: str, reprcrash: Crash) -> None:
        self.text, self.reprcrash = text, reprcrash

    def __str__(self) -> str:
        """The whole text."""
        return self.text

    def toterminal(self, tw: Any) -> None:
        """Write the text."""
        for line in self.text.splitlines():
            tw.line(line)


class KataFile(pytest.File):
    """One file in katas/. It is read for its lines, never imported."""

    untouched = False

    def collect(self) -> Iterator[CheckItem]:
        """An item for each hidden check; for a stub, unless a check is asked for, one that stands for all."""
        name = self.path.stem
        if not outline.is_kata(name):
            return
        summary_of(self.config)
        source = b""
        with contextlib.suppress(Unreadable):  # the checks will say so
            source = read(self.path)
        self.untouched = outline.untouched(name, source)
        kata = outline.outline(name)
        line = stubs.defined_at(source, kata.functions[0]) or 0
        whole = self.config.option.collectonly or any("::" in word for word in self.config.args)
        for check in kata.checks if whole or not self.untouched else (NOT_STARTED,):
            yield CheckItem.from_parent(self, name=check.name, check=check, line=line)


class CheckItem(pytest.Item):
    """One hidden check of one kata."""

    def __init__(self, *, check: CheckOutline, line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.check, self.line = check, line

    def runtest(self) -> None:
        """Run the check. A stub is skipped; a follow-up that is not met is an expected failure."""
        summary = summary_of(self.config)
        if isinstance(self.parent, KataFile) and self.parent.untouched:
            summary.note(self, "not started")
            self.skip("not started")
        run = run_of(self.config)
        try:
            outcome = run.outcome(self)
        except Unreadable as why:
            told = summary.note(self, "failed")
            if told:
                self.skip(f"not run: {why}")
            raise Failed(f"katas/{self.path.name}: {why}", str(why)) from None
        summary.note(self, outcome.outcome)
        if outcome.prints:
            self.add_report_section("call", "stdout", outcome.prints)
        if outcome.outcome == "not started":
            self.skip("not started")
        if outcome.repeats:
            self.skip(f"not run: {outcome.says}")
        if outcome.outcome == "failed" and outcome.level == "follow-up":
            pytest.xfail(outcome.says)
        if outcome.outcome != "passed":
            raise Failed(run.explain(self, outcome), outcome.says)

    def skip(self, reason: str) -> None:
        """Skip, with the person's file as the place."""
        raise pytest.skip.Exception(reason, _use_item_location=True)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone, whatever the style."""
        text = str(excinfo.value) or excinfo.typename
        line = excinfo.value.line if isinstance(excinfo.value, Failed) else text
        return Message(text, Crash(str(self.path), self.line + 1, line.splitlines()[0]))

    def reportinfo(self) -> tuple[Path, int, str]:
        """The person's function is where a check lives, as far as they are concerned."""
        return self.path, self.line, f"{self.path.stem}: {self.name}"


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
        print(f"\n{report.longrepr}\n", flush=True)
        run_of(node.config).debug(node)
        if capture:
            capture.resume()

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Pytest's own fault: as ever."""
        self._original.pytest_internalerror(excinfo)


class Summary:
    """The quiet word for what is not started, and the closing summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._seed = config.getoption("--kata-seed")
        self._word = "s" if config.option.verbose < 0 else "not started"
        self._missing = [path.name for path in chosen(config.args) if not path.is_file()]
        self._quiet: set[str] = set()
        self._outcomes: dict[str, dict[CheckOutline, str]] = {}

    def note(self, item: CheckItem, outcome: str) -> bool:
        """Hear how a check went; whether it is not the first of its kata."""
        outcomes = self._outcomes.setdefault(item.path.stem, {})
        outcomes[item.check] = outcome
        return len(outcomes) > 1

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """`not started` once a kata instead of a letter for each of its checks."""
        if not (report.skipped and isinstance(report.longrepr, tuple) and report.longrepr[2].endswith("not started")):
            return None
        file = report.nodeid.split("::")[0]
        letter = "" if file in self._quiet else self._word
        self._quiet.add(file)
        return "skipped", letter, ("NOT STARTED", {"yellow": True})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Where the person stands, and what is next."""
        if not self._outcomes:
            return
        states = {name: _state(outcomes) for name, outcomes in self._outcomes.items()}
        terminalreporter.write_sep("-", "katas")
        if terminalreporter.config.option.verbose >= 0:
            for line in self._open([name for name, state in states.items() if state == "passing"]):
                terminalreporter.write_line(line)
        terminalreporter.write_line(f"seed {self._seed} (other inputs: --kata-seed N)")
        for line in self._partly():
            terminalreporter.write_line(line)
        for name in self._missing:
            terminalreporter.write_line(f"katas/{name} is missing: git checkout katas/{name} brings the stub back")
        if RUN in terminalreporter.config.stash:
            for line in terminalreporter.config.stash[RUN].record(self._outcomes):
                terminalreporter.write_line(line)
        terminalreporter.write_line(_standing(states, len(self._missing)))

    def _open(self, passing: list[str]) -> Iterator[str]:
        """The follow-ups of katas that pass: while the core fails they say nothing."""
        wrong = [(name, c) for name in passing for c, o in self._outcomes[name].items() if o == "failed"]
        if wrong:
            yield "follow-ups still open (asked next; they never turn a pass into a fail):"
        for name, check in wrong:
            yield from textwrap.wrap(f"{name}: {check.title}", 78, initial_indent="  ", subsequent_indent="    ")

    def _partly(self) -> Iterator[str]:
        """What a selection left out, since that may be a failure."""
        for name, outcomes in self._outcomes.items():
            total = len(outline.outline(name).checks)
            if len(outcomes) < total and NOT_STARTED not in outcomes:
                yield f"{name}: only {len(outcomes)} of its {total} checks ran"


def _state(outcomes: dict[CheckOutline, str]) -> str:
    core = {outcome for check, outcome in outcomes.items() if check.level == "core"}
    if "not started" in outcomes.values():
        return "not started"
    return "passing" if core <= {"passed"} else "failing"


def _standing(states: dict[str, str], missing: int) -> str:
    """`1 of 6 passing · 1 failing · 4 not started · next: split_heads`."""
    count = {state: list(states.values()).count(state) for state in ("passing", "failing", "not started")}
    parts = [f"{count['passing']} of {len(states) + missing} passing"]
    parts += [f"{count[state]} {state}" for state in ("failing", "not started") if count[state]]
    waiting = [name for state in ("failing", "not started") for name in outline.names() if states.get(name) == state]
    return " · ".join(parts + ([f"next: {waiting[0]}"] if waiting else []))
