"""A debugging interview: planted mistakes, found against the clock."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from harness import outline
from harness.tests.play import debrief, play
from harness.tests.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def test_planted_mistakes_are_listed_with_what_was_found_and_when(project: Project) -> None:
    play(project, ("debug pre_ln_block --mistakes 2 --seed 4", ["cause", "test", "run"]))
    [path] = (project.folder / "mock").glob("*/pre_ln_block.py")
    text = path.read_text(encoding="utf-8")
    assert "#" not in text.split('"""')[2]
    assert "Contract" in text
    first = debrief(project, ("mock stop", []))
    planted = [p["name"] for p in first["questions"][0]["planted"]]
    assert len(planted) == 2
    assert first["questions"][0]["verdict"] == "fail"
    assert not any(p["found"] for p in first["questions"][0]["planted"])

    solved = (outline.SOLUTIONS / "pre_ln_block.py").read_text(encoding="utf-8")
    steps = ["the cause", "the test", ["wait", 70], "run", ["write", "pre_ln_block.py", solved], "submit"]
    again = debrief(project, ("debug pre_ln_block --mistakes 2 --seed 4", steps))
    [question] = again["questions"]
    assert [p["name"] for p in question["planted"]] == planted
    assert question["verdict"] == "strong"
    assert [(p["found"], p["at"]) for p in question["planted"]] == [(True, 70.0)] * 2


def test_it_opens_with_a_symptom_before_the_code_is_handed_over(project: Project) -> None:
    commands: list[tuple[str, list[Any]]] = []
    for number in range(5):
        commands += [(f"debug pre_ln_block --seed {number}", []), ("mock stop", [])]
    told = play(project, *commands)[::2]
    seed = next(number for number, said in enumerate(told) if "Training loss falls" in said.out)
    for folder, said in zip(sorted((project.folder / "mock").iterdir()), told, strict=True):
        assert bool(list(folder.glob("*.py"))) == ("Here is the code" in said.out or "What is the" not in said.out)
    [said] = play(project, (f"debug pre_ln_block --seed {seed}", ["the future leaks", "change the last token", "quit"]))
    before, after = said.out.split("Here is the code.")
    assert "pre_ln_block.py" not in before
    assert "pre_ln_block.py" in after
    whole = debrief(project)
    assert whole["symptom"]["cause"] == "the future leaks"
    assert whole["symptom"]["test"] == "change the last token"
    assert "leaks" in whole["symptom"]["model_cause"]


def test_a_kata_with_less_room_says_so(project: Project) -> None:
    [said] = play(project, ("debug causal_mask --mistakes 4", []))
    assert said.status == 2
    assert "causal_mask" in said.err
    assert not (project.folder / "mock").exists()


def test_a_debugging_interview_changes_no_stub_and_keeps_no_attempt(project: Project) -> None:
    play(project, ("debug split_heads --seed 2", ["x", "y", "run", "quit"]))
    stub = (project.folder / "katas" / "split_heads.py").read_text(encoding="utf-8")
    assert stub == outline.stub("split_heads")
    assert not (project.folder / ".kata" / "attempts").exists()


def test_the_code_handed_over_is_readable_python(project: Project) -> None:
    for name in ("split_heads", "tied_logits"):
        play(project, (f"debug {name} --seed 3", ["x", "y", "quit"]))
        [path] = (project.folder / "mock").glob(f"*/{name}.py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert set(outline.outline(name).functions) <= functions
