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
