"""What is named and what is not: two mistakes at once, a small one behind a large one, one made only sometimes."""

from __future__ import annotations

import pytest

from harness import registry
from harness.tests.conftest import Grade

SOLUTION = registry.solution("pre_ln_block")
MISTAKES = {m.name: m for m in registry.kata("pre_ln_block").mistakes}
FIRST = "x = x + attention(layer_norm(x), params, heads)"


@pytest.mark.parametrize(
    "names",
    [
        ("reversed_mask", "scale_missing"),
        ("no_mask", "relu"),
        ("diagonal_blocked", "wo_missing"),
        ("final_norm", "erf_gelu"),  # the second is 1000 times smaller
        ("epsilon_1e_6", "residual_missing_both"),
        ("heads_without_transpose", "merge_without_transpose"),
    ],
)
def test_two_mistakes_at_once_are_both_named(names: tuple[str, str], grade_text: Grade) -> None:
    both = [patch for name in names for patch in MISTAKES[name].forms[0]]
    assert {m.name for m in grade_text("pre_ln_block", SOLUTION.patched(both)).mistakes} == set(names)


def test_a_mistake_made_for_one_token_alone_is_not_named_but_is_the_nearest(grade_text: Grade) -> None:
    special = FIRST.replace("attention(", "(x.shape[1] > 1) * attention(")
    report = grade_text("pre_ln_block", SOLUTION.patched([(FIRST, special)]))
    assert report.verdict == "fail"
    assert report.mistakes == ()
    assert "the nearest is attention_lost" in report.remark


def test_a_row_with_nothing_to_see_may_be_cleaned_of_its_nan(grade_text: Grade) -> None:
    blocked = [*MISTAKES["diagonal_blocked"].forms[0], ("weights @ v", "np.nan_to_num(weights) @ v")]
    report = grade_text("pre_ln_block", SOLUTION.patched(blocked))
    assert [m.name for m in report.mistakes] == ["diagonal_blocked"]


def test_what_is_in_no_catalogue_is_not_named(grade_text: Grade) -> None:
    report = grade_text("pre_ln_block", SOLUTION.patched([("weights @ v", "weights @ v / T")]))
    assert report.verdict == "fail"
    assert report.mistakes == ()
