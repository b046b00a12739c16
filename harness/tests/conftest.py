"""What several tests need: one judge for the session, and a way to grade a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.grade import grade
from harness.judge import Judge
from harness.model import Report

Grade = Callable[[str, str], Report]


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """One warm judge for all tests."""
    with Judge() as started:
        yield started


@pytest.fixture
def grade_text(judge: Judge, tmp_path: Path) -> Grade:
    """Grade a source text as a kata, through the one door."""

    def run(name: str, source: str) -> Report:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        return grade(judge, name, path, seed=0)

    return run


LEFT_OUT = {
    "test_browser.py": "chromium or playwright is not installed: the browser tests of the report were left out "
    '(apt-get install chromium, pip install -e ".[dev]")',
    "test_torch.py": 'torch is not installed: the PyTorch oracle tests were left out (pip install -e ".[oracle]")',
    "test_wire.py": 'hypothesis is not installed: the tests of the wire were left out (pip install -e ".[dev]")',
    "test_properties.py": 'hypothesis is not installed: the property tests were left out (pip install -e ".[dev]")',
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests a missing package left out: a skip alone is easily overlooked."""
    for report in terminalreporter.getreports("skipped"):
        file = report.nodeid.rpartition("/")[2]
        if line := LEFT_OUT.get("test_torch.py" if file.startswith(("test_torch", "test_designs")) else file):
            terminalreporter.write_line(line)
