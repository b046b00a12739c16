"""The grader, tested like a judge, through the real door: solutions pass, mistakes are named, variants are accepted.

`kata verify` asks the same on many seeds.
"""

from __future__ import annotations

import pytest

from harness import outline
from harness.proof import Case, cases, judged, shape
from harness.tests.conftest import Grade

EACH_KATA = pytest.mark.parametrize("name", outline.names())
CASES = [
    pytest.param(name, case, id=f"{name}-{case.label.removeprefix(f'variants/{name}/')}")
    for name in outline.names()
    for case in cases(name)
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_source_becomes_what_it_should(name: str, case: Case, grade_text: Grade) -> None:
    report = grade_text(name, case.source)
    assert judged(case, report) == []
    level = case.mistake.level if case.mistake else ""
    assert report.verdict in {"core": ("fail",), "follow-up": ("pass",), "": ("pass", "strong")}[level]


@EACH_KATA
def test_nothing_is_missing(name: str) -> None:
    assert shape(name) == []


def test_there_are_mistakes_and_variants_enough() -> None:
    every = [case for name in outline.names() for case in cases(name)]
    assert len({(case.mistake.name, case.number) for case in every if case.mistake}) >= 90
    assert sum(case.mistake is None for case in every) >= 140
    assert sum(case.mistake is None for name in outline.names()[:6] for case in cases(name)) >= 90
