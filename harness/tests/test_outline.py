"""What is read from a checks file's text is what the loaded file says, and the three files of a kata exist."""

from __future__ import annotations

import re

import pytest

from harness import outline, registry


@pytest.mark.parametrize("name", outline.names())
def test_the_outline_is_true(name: str) -> None:
    read, loaded = outline.outline(name), registry.kata(name)
    assert (read.track, read.minutes, read.functions) == (loaded.track, loaded.minutes, loaded.functions)
    assert [tuple(check) for check in read.checks] == [(c.name, c.title, c.level) for c in loaded.checks]
    assert all(check.title for check in read.checks)
    assert len({check.name for check in read.checks}) == len(read.checks)


def test_a_kata_is_three_files_of_one_name() -> None:
    stubs, solutions, checks = (
        {path.stem for path in folder.glob("[a-z]*.py")}
        for folder in (outline.KATAS, outline.SOLUTIONS, outline.CHECKS)
    )
    assert solutions == checks == set(outline.names())
    assert solutions <= stubs  # there may be notes of the person's own beside the stubs


@pytest.mark.parametrize("name", outline.names())
def test_a_catalogue_reads_well(name: str) -> None:
    mistakes = registry.kata(name).mistakes
    assert len({m.name for m in mistakes}) == len(mistakes)
    for mistake in mistakes:
        assert re.fullmatch(r"[a-z][a-z0-9_]+", mistake.name)
        assert len(mistake.says) > 25
        assert mistake.look
        assert not mistake.says.endswith(".")
        for form in mistake.forms:
            compile(registry.solution(name).patched(form), mistake.name, "exec")


def test_the_direction_check_of_a_causal_layer_comes_before_all_others() -> None:
    for name in ("causal_mask", "pre_ln_block", "post_ln_block"):
        assert outline.outline(name).checks[0].name == "direction"
    for name in outline.names():
        assert "direction" not in {check.name for check in outline.outline(name).checks[1:]}
