"""`kata reset` and `kata attempts`: nothing that a person wrote is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import outline
from harness.tests.project import Project

ODD = "# café\r\nimport numpy as np\r\n\ndef causal_mask(length):\n    return None\n\n\n".encode("latin-1")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def numbers(project: Project) -> list[tuple[int, str]]:
    done = project.run("-m", "harness", "attempts", "causal", "--json")
    return [(one["number"], one["verdict"]) for one in json.loads(done.stdout)["attempts"]]


def test_reset_keeps_and_restore_brings_back_byte_for_byte(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.write_bytes(ODD)
    done = project.run("-m", "harness", "reset", "causal_mask")
    assert done.returncode == 0
    assert "attempt 1" in done.stdout
    assert path.read_text() == outline.stub("causal_mask")
    later = project.solve("causal_mask").read_bytes()
    done = project.run("-m", "harness", "attempts", "causal", "--restore", "1")
    assert path.read_bytes() == ODD
    assert "attempt 2 now" in done.stdout
    project.run("-m", "harness", "attempts", "causal", "--restore", "2")
    assert path.read_bytes() == later
    assert numbers(project) == [(1, "fail"), (2, "strong")]
    shown = project.run("-m", "harness", "attempts", "causal_mask").stdout
    assert "2 kept in" in shown
    assert "strong" in shown
    assert project.run("-m", "harness", "attempts", "causal", "--show", "2").stdout.encode() == later


def test_the_same_attempt_is_not_kept_twice(project: Project) -> None:
    for _ in range(3):
        project.solve("causal_mask")
        project.run("-m", "harness", "reset", "causal_mask")
    assert numbers(project) == [(1, "strong")]


def test_there_is_nothing_to_keep_of_a_clean_stub_and_notes_are_kept(project: Project) -> None:
    assert "Nothing was there to keep" in project.run("-m", "harness", "reset", "causal_mask").stdout
    assert numbers(project) == []
    path = project.folder / "katas" / "causal_mask.py"
    path.write_text(path.read_text() + "# the diagonal is open!\n")
    project.run("-m", "harness", "reset", "causal_mask")
    assert numbers(project) == [(1, "never graded")]


def test_a_missing_file_comes_back(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.unlink()
    assert "kata reset causal_mask" in project.run("-m", "harness").stdout
    project.run("-m", "harness", "reset", "causal_mask")
    assert path.read_text() == outline.stub("causal_mask")


@pytest.mark.parametrize("words", [["reset", "causal_mask"], ["attempts", "causal_mask", "--restore", "1"]])
def test_what_cannot_be_kept_is_not_replaced(project: Project, words: list[str]) -> None:
    home = project.folder / "home"
    path = project.kata("causal_mask", "x = 1\n")
    project.run("-m", "harness", "reset", "causal_mask", KATA_HOME=str(home))
    path.write_text("y = 2\n")
    folder = home / "attempts" / "causal_mask"
    (home / "attempts" / "causal_mask").rename(home / "kept")
    (home / "attempts" / "causal_mask").write_text("no folder")
    done = project.run("-m", "harness", *words, KATA_HOME=str(home))
    assert done.returncode == 2
    assert path.read_text() == "y = 2\n"
    if words[0] == "reset":
        assert "nothing was changed: " in done.stderr
        assert str(folder) in done.stderr


def test_a_folder_in_the_place_of_a_kata_is_left_alone(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.unlink()
    path.mkdir()
    done = project.run("-m", "harness", "reset", "causal_mask")
    assert done.returncode == 2
    assert "nothing was changed: katas/causal_mask.py is a directory" in done.stderr
    assert path.is_dir()


def test_an_attempt_that_there_is_not(project: Project) -> None:
    done = project.run("-m", "harness", "attempts", "causal_mask", "--restore", "7")
    assert done.returncode == 2
    assert "there is no attempt 7" in done.stderr
