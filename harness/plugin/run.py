"""What the kata items of one pytest run share once a kata has been started: one judge, and a grading a file."""

from __future__ import annotations

import gc
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path

import pytest
import pytest_timeout

from harness import forge, outline, registry, wire
from harness.grade import Grading
from harness.judge import UNLIMITED, Judge, Limits
from harness.model import Outcome, Raised
from harness.plugin import FORGE
from harness.source import read


def start(config: pytest.Config) -> Run:
    """A judge over the warm parent that the plugin started early, or over a new one. A debugger gets no deadline."""
    if FORGE not in config.stash:
        config.stash[FORGE] = forge.Forge(live=config.getoption("capture", "no") == "no")
    gc.freeze()  # what is loaded by now is no garbage: pytest's collections at the end need not look through it
    limits = UNLIMITED if pytest_timeout.is_debugging() else Limits()
    return Run(Judge(limits, config.stash[FORGE]), config.getoption("--kata-seed"), config.stash[FORGE].live)


class Run:
    """Runs checks, explains failures, debugs calls."""

    def __init__(self, judge: Judge, seed: int, live: bool) -> None:
        self._judge, self._seed, self._live = judge, seed, live
        self._met: set[Path] = set()
        self._raised: set[tuple[Path, Raised | None]] = set()
        self._gradings: dict[Path, Grading] = {}
        self._explained: set[Path] = set()

    def _grading(self, item: pytest.Item) -> Grading:
        """The grading of an item's file. With the first item of a file, the next file's worker starts to load."""
        if item.path not in self._gradings:
            self._gradings[item.path] = self._start(item.path)
        if item.path not in self._met:
            self._met.add(item.path)
            later = [other.path for other in item.session.items if other.path.parent == outline.KATAS]
            waiting = [path for path in dict.fromkeys(later) if path not in self._gradings]
            if waiting and not self._live:
                self._gradings[waiting[0]] = self._start(waiting[0])
        return self._gradings[item.path]

    def _start(self, path: Path) -> Grading:
        grading = Grading(self._judge, path.stem, path, read(path), self._seed)
        grading.prepare()
        return grading

    def outcome(self, item: pytest.Item) -> Outcome:
        """The outcome of an item's check."""
        check = next(check for check in registry.kata(item.path.stem).checks if check.name == item.name)
        return self._grading(item).run(check)

    def explain(self, item: pytest.Item, outcome: Outcome) -> str:
        """A failure's text; the first failure of a kata says which mistake it is."""
        if outcome.outcome == "error":
            return f"{outcome.says}\nPlease report it, with the seed {self._seed}."
        from harness import report  # only a failure needs it

        grading, told = self._grading(item), item.path in self._explained
        found = grading.diagnosis()
        self._explained.add(item.path)
        named, remark = ((), "") if told else (found.mistakes, found.remark)
        raised = outcome.answer.raised if outcome.answer else None
        known = raised is not None and (item.path, raised) in self._raised
        self._raised.add((item.path, raised))
        brief = known or (told and bool(found.mistakes))
        return report.failure(outcome, named, remark, item.path, grading.line, brief)

    def record(self, ran: Mapping[str, Sized]) -> Iterator[str]:
        """Add the katas all of whose checks ran to the history; a line when that cannot be done."""
        from harness.history import History
        from harness.practice import record

        try:
            history = History()
            for path, grading in self._gradings.items():
                if len(ran.get(path.stem, ())) == len(grading.kata.checks) and not grading.untouched:
                    record(history, grading.report(path.name), grading.source, "pytest")
            problem = history.problem
        except Exception as error:  # whatever it is, the verdicts stand
            problem = f"{type(error).__name__}: {error}"
        if problem:
            yield f"not saved: {problem}"

    def debug(self, item: pytest.Item) -> None:
        """Run the failing call again under pdb, in a process that owns the terminal."""
        call = self.outcome(item).call
        function, args = (call.function, call.args) if call else ("", ())
        with tempfile.TemporaryDirectory() as folder:
            frame = Path(folder, "call")
            frame.write_bytes(wire.pack(args))
            words = forge.command(str(item.path), item.path.stem, function, str(frame), module="replay")
            if subprocess.run(words, env=forge.environment(), check=False).returncode == forge.LEFT:
                pytest.exit("left the debugger", returncode=1)
