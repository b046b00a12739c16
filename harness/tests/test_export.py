"""A hand-out: it works with plain Python, and holds no answer."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from harness import outline
from harness.cli import main
from harness.outline import SOLUTIONS


def test_a_hand_out_has_the_stubs_and_a_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "handout"
    assert main(["export", str(folder)]) == 0
    assert {p.name for p in folder.iterdir()} == {"README.md", *(f"{name}.py" for name in outline.names())}
    readme = (folder / "README.md").read_text()
    for name in outline.names():
        assert (folder / f"{name}.py").read_text() == outline.stub(name)
        assert f"`{name}.py`" in readme
    assert str(folder) in capsys.readouterr().out


def test_nothing_leaks_an_answer(tmp_path: Path) -> None:
    main(["export", str(tmp_path / "handout")])
    for path in (tmp_path / "handout").iterdir():
        text = path.read_text()
        assert "harness" not in text
        assert "solutions" not in text
        for node in ast.walk(ast.parse(text if path.suffix == ".py" else "")):
            if isinstance(node, ast.FunctionDef):
                assert [type(line) for line in node.body] == [ast.Raise], (path.name, node.name)


def test_the_examples_run_as_the_readme_says(tmp_path: Path) -> None:
    folder = tmp_path / "handout"
    main(["export", str(folder), "causal_mask"])
    assert "python -m doctest causal_mask.py" in (folder / "README.md").read_text()
    words = [sys.executable, "-m", "doctest", "causal_mask.py"]
    stub = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert "NotImplementedError" in stub.stdout
    (folder / "causal_mask.py").write_text((SOLUTIONS / "causal_mask.py").read_text())
    solved = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert (solved.returncode, solved.stdout) == (0, "")


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["export", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert main(["export", str(tmp_path / "mine.txt")]) == 2
    assert main(["export", str(tmp_path / "new"), "no_such_kata"]) == 2
    assert not (tmp_path / "new").exists()
