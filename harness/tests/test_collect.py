"""Which files are submissions, of which kata, whose, and what a walk passes over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.collect import collect, jobs_for

MASK = "def causal_mask(n):\n    return n\n"
HEADS = "def split_heads(x, heads):\n    return x\ndef merge_heads(x):\n    return x\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: str, text: str = MASK) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    return path


@pytest.mark.parametrize(
    ("path", "text", "kata", "submitter"),
    [
        ("causal_mask.py", MASK, "causal_mask", ""),
        ("team3_causal_mask.py", MASK, "causal_mask", "team3"),
        ("team3/causal_mask.py", MASK, "causal_mask", "team3"),
        ("class/team3/katas/causal_mask.py", MASK, "causal_mask", "team3"),
        ("alice.py", HEADS, "split_heads", "alice"),
        ("causal_mask (2).py", MASK, "causal_mask", "2"),
        ("bob-pre_ln_block.py", MASK, "pre_ln_block", "bob"),
    ],
)
def test_the_kata_and_the_submitter(folder: Path, path: str, text: str, kata: str, submitter: str) -> None:
    put(path, text)
    walked = collect(["."]).entries
    assert [(e.kata, e.submitter, e.why) for e in walked] == [(kata, submitter, "")]
    [named] = collect([path]).entries
    assert named == (path, kata, submitter, "")


def test_a_walk_is_in_order_and_keeps_the_path_as_walked(folder: Path) -> None:
    for team in ("b", "c", "a"):
        put(f"class/{team}/causal_mask.py")
    assert [e.file for e in collect(["class"]).entries] == [f"class/{t}/causal_mask.py" for t in "abc"]
    assert [e.file for e in collect(["./class/b"]).entries] == ["./class/b/causal_mask.py"]


def test_what_a_walk_passes_over_is_told_with_the_reason(folder: Path) -> None:
    put("class/causal_mask.py")
    for path in ("notes.txt", "helper.py", "test_causal_mask.py", ".git/config", "__pycache__/x.pyc"):
        put(f"class/{path}", "x = 1\n")
    (folder / "class" / "again").symlink_to(folder / "class")
    found = collect(["class"])
    assert [e.file for e in found.entries] == ["class/causal_mask.py"]
    reasons = {Path(file).name: why for file, why in found.skipped}
    assert set(reasons) == {"notes.txt", "helper.py", "test_causal_mask.py", ".git", "__pycache__", "again"}
    assert "not a Python file" in reasons["notes.txt"]
    assert "not followed" in reasons["again"]


def test_every_named_path_yields_a_result(folder: Path) -> None:
    (folder / "empty").mkdir()
    put("only/notes.txt")
    put("other.py", "x = 1\n")
    os.mkfifo("fifo.py")
    words = {
        "empty": "without a submission",
        "only": "without a submission",
        "missing.py": "no such file",
        "other.py": "use --kata",
        "fifo.py": "not a regular file",
        "bad\0name.py": "null byte",
    }
    found = collect(words)
    assert [e.file for e in found.entries] == list(words)
    for entry, said in zip(found.entries, words.values(), strict=True):
        assert said in entry.why
    assert jobs_for(found.entries, 2) == 0


def test_a_kata_that_is_given_holds_for_files_without_one(folder: Path) -> None:
    for name in ("ann.py", "ben.py", "split_heads.py"):
        put(f"class/{name}", "x = 1\n")
    found = collect(["class"], "causal_mask")
    assert [(e.kata, e.submitter) for e in found.entries] == [("causal_mask", "ann"), ("causal_mask", "ben")]
    assert found.skipped == [("class/split_heads.py", "is split_heads by its name, not causal_mask")]
    assert collect(["class/split_heads.py"], "causal_mask").entries[0].kata == "causal_mask"


def test_a_walked_file_that_says_its_kata_is_a_submission_though_it_cannot_be_read(folder: Path) -> None:
    put("class/x.txt")
    os.mkfifo("class/team_causal_mask.py")
    assert [e.submitter for e in collect(["class"]).entries] == ["team"]


def test_few_submissions_need_one_process() -> None:
    entries = collect([]).entries
    assert jobs_for(entries, 4) == 0
    one = collect([__file__], "causal_mask").entries
    assert jobs_for(one, 4) == 1
    assert jobs_for(one * 5, 4) == 2
    assert jobs_for(one * 500, 4) == 4
