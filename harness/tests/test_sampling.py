"""Draws: the solution's shares are right, and a mistake is named however somebody draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.tests import scalar_models
from harness.tests.conftest import Grade
from harness.tests.test_scalar import drawn, solution
from harness.tests.test_scalar_models import model

VARIANTS = Path(__file__).parent / "variants" / "sampling"
OPTIONS = [(1.0, None, None), (0.5, None, None), (3.0, 4, None), (1.0, None, 0.7), (0.8, 5, 0.55), (1.0, 99, 1.0)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_tokens_are_drawn_as_often_as_they_should_be(
    seed: int, options: tuple[float, int | None, float | None]
) -> None:
    rng, rows = drawn(seed, 77), 20_000
    scores = rng.normal(0, 2, 9)
    got = solution("sampling").next_token(np.tile(scores, (rows, 1)), *options, np.random.default_rng(seed))
    found, want = np.bincount(got, minlength=9) / rows, scalar_models.shares(scores.tolist(), *options)
    assert set(np.flatnonzero(found).tolist()) <= set(want)
    assert max(abs(found[token] - share) for token, share in want.items()) < 0.03  # 1e-14 by Hoeffding


@pytest.mark.parametrize("T", [1, 3, 6])
def test_generate_takes_the_most_likely_token_of_the_whole_model(T: int) -> None:
    rng = drawn(T, 78)
    params, ids = model(rng, (2, 12, 0, 8, 2, 6), 9, 2), rng.integers(0, 9, (2, T))
    got = solution("sampling").generate(ids, 6, params, 2)
    assert (got[:, :T] == ids).all()
    logits = solution("gpt_forward").gpt_forward(got[:, :-1], params, 2)
    assert (got[:, T:] == logits[:, T - 1 :].argmax(axis=-1)).all()


NAMED = [
    ("gumbel", "likelier < top_p, z", "(likelier + p < top_p) | (likelier == 0), z", "crossing_token_dropped"),
    ("gumbel", "z = logits / temperature", "z = logits * temperature", "temperature_multiplied"),
    ("plain_python", "/ temperature)", "/ 1.0)", "temperature_ignored"),
    ("generators_choice", "z = row[ids] / temperature", "z = row[ids] * temperature", "temperature_multiplied"),
]


@pytest.mark.parametrize(("variant", "old", "new", "mistake"), NAMED, ids=lambda text: text.replace("/", "over"))
def test_a_mistake_is_named_however_somebody_draws(
    variant: str, old: str, new: str, mistake: str, grade_text: Grade
) -> None:
    source = (VARIANTS / f"{variant}.py").read_text(encoding="utf-8")
    assert source.count(old) == 1
    report = grade_text("sampling", source.replace(old, new))
    assert report.verdict == "fail"
    assert [m.name for m in report.mistakes if m.name != "ties_dropped"] == [mistake]  # these three do drop ties
