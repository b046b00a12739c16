"""`kata verify` and `kata new`: a kata that holds, one that does not, and the page for authors, word for word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.outline import ROOT
from harness.tests.project import Project

PAGE = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = {"solutions": 0, "harness/checks": 1}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def kata(project: Project, *words: str, status: int) -> str:
    done = project.run("-m", "harness", *words)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def fill(project: Project, folder: str) -> Path:
    """Write the page's block into its file."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    path = project.folder / folder / "rms_norm.py"
    path.write_text(blocks[FILES[folder]], encoding="utf-8")
    return path


def test_the_page_for_authors_ends_with_a_kata_that_holds(project: Project) -> None:
    assert "wrote harness/checks/rms_norm.py" in kata(project, "new", "rms_norm", status=0)
    assert "solutions/rms_norm.py:" in kata(project, "verify", "rms_norm", status=1)
    fill(project, "solutions")
    assert "`kata reset rms_norm`" in " ".join(kata(project, "verify", "rms_norm", status=1).split())
    kata(project, "reset", "rms_norm", status=0)
    assert "harness/checks/rms_norm.py:" in kata(project, "verify", "rms_norm", status=1)
    fill(project, "harness/checks")
    assert kata(project, "verify", "rms_norm", status=0).endswith(": all holds\n")
    text = (project.folder / "solutions" / "rms_norm.py").read_text(encoding="utf-8")
    project.kata("rms_norm", text.replace(" * gain", ""))
    assert "gain_left_out" in kata(project, "check", "rms_norm", status=1)


CASE = "[(normal(rng, 2, 3, 4), normal(rng, 4))])"
UNCHANGED = f"expect.unchanged(submission.rms_norm, reference.rms_norm, {CASE}"
X = "    x = normal(rng, 2, 3, 4)\n"
BROKEN = {
    "fails the core": ('look="mean or sum",', 'look="mean or sum",\n    level="follow-up",'),
    "sum_of_squares passes: no core check": ('"np.sum(x * x"', '"np.mean(1.0 * x * x"'),
    "must match exactly once": ('(GUARD, "")', '("x", "")'),
    "gain_not_refused is named by no name": ('    check="refuses",\n', ""),
    "untouched is the first to fail for no": (UNCHANGED, UNCHANGED.replace("unchanged", "agrees")),
    "never runs, whatever is graded": (X, X + "    if not x.size:\n        raise AssertionError\n"),
    "(seed ": (X, X + "    assert rng.random() > 0.05\n"),
    "has 2 of the 3 hints": ('    "A row of d numbers has a length. What should it be afterwards?",\n', ""),
}


@pytest.mark.parametrize("says", BROKEN)
def test_what_does_not_hold_is_said(project: Project, says: str) -> None:
    kata(project, "new", "rms_norm", status=0)
    fill(project, "solutions")
    kata(project, "reset", "rms_norm", status=0)
    path = fill(project, "harness/checks")
    old, new = BROKEN[says]
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert says in " ".join(kata(project, "verify", "rms_norm", status=1).split())


def test_one_document_for_programs(project: Project) -> None:
    whole = json.loads(kata(project, "verify", "padding_mask", "--json", status=0))
    [one] = whole["katas"]
    assert (one["kata"], one["problems"], one["margins"]["wrong"]) == ("padding_mask", [], None)
    assert one["graded"] > 200


def test_a_stub_out_of_step_is_told(project: Project) -> None:
    stub = project.folder / "katas" / "causal_mask.py"
    stub.write_text(stub.read_text(encoding="utf-8") + "\nx = 1\n", encoding="utf-8")
    assert "causal_mask.py is not the stub" in " ".join(kata(project, "verify", "causal_mask", status=1).split())


@pytest.mark.parametrize("name", ["causal_mask", "RMS", "class", "rms-norm", "../x", "_hidden"])
def test_a_new_kata_overwrites_nothing_and_has_a_name(project: Project, name: str) -> None:
    before = {path: path.read_bytes() for path in project.folder.rglob("*.py")}
    assert kata(project, "new", name, status=2).startswith("kata new: ")
    assert {path: path.read_bytes() for path in project.folder.rglob("*.py")} == before
