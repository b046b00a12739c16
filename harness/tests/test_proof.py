"""The grader, tested like a judge: solutions pass, mistakes are named, right variants are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import outline, registry
from harness.kata import Mistake
from harness.tests.conftest import Grade

VARIANTS = Path(__file__).parent / "variants"
FORMS = [
    pytest.param(name, mistake, number, id=f"{name}-{mistake.name}-{number}")
    for name in outline.names()
    for mistake in registry.kata(name).mistakes
    for number in range(len(mistake.forms))
]


@pytest.mark.parametrize("name", outline.names())
def test_the_solution_is_strong(name: str, grade_text: Grade) -> None:
    report = grade_text(name, registry.solution(name).source)
    assert [(o.check, o.says) for o in report.outcomes if o.outcome != "passed"] == []
    assert report.verdict == "strong"


@pytest.mark.parametrize(("name", "mistake", "number"), FORMS)
def test_a_mistake_fails_at_its_level_and_is_named(name: str, mistake: Mistake, number: int, grade_text: Grade) -> None:
    report = grade_text(name, registry.solution(name).patched(mistake.forms[number]))
    assert mistake.level in {o.level for o in report.outcomes if o.outcome == "failed"}
    assert report.verdict == ("fail" if mistake.level == "core" else "pass")
    assert [m.name for m in report.mistakes] == [mistake.name]
    assert "error" not in {o.outcome for o in report.outcomes}


@pytest.mark.parametrize("path", sorted(VARIANTS.glob("*/*.py")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_right_variant_passes(path: Path, grade_text: Grade) -> None:
    report = grade_text(path.parent.name, path.read_text(encoding="utf-8"))
    assert [(o.check, o.says) for o in report.outcomes if o.outcome != "passed" and o.level == "core"] == []
    assert report.verdict in ("pass", "strong")


def test_there_are_mistakes_and_variants_enough() -> None:
    assert sum(len(registry.kata(name).mistakes) for name in outline.names()) >= 90
    assert len(list(VARIANTS.glob("*/*.py"))) >= 40
