"""`kata grade` as a person and a script run it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness import outline
from harness.tests.project import Project

REVERSED = "import numpy as np\n\ndef causal_mask(length):\n    return np.tril(np.ones((length, length), bool), -1)\n"
TEXTBOOK = "import numpy as np\n\ndef causal_mask(n):\n    return np.triu(np.ones((n, n), bool), 1)\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def one(project: Project, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the only result of `kata grade --json`."""
    done = project.run("-m", "harness", "grade", "--json", *words)
    document = json.loads(done.stdout)
    assert set(document) == {"version", "seed", "results", "skipped"}
    assert document["version"] == 1
    [result] = document["results"]
    return done.returncode, result


def test_a_solution_is_strong_and_a_textbook_answer_passes(project: Project) -> None:
    solved = project.solve("causal_mask")
    assert one(project, str(solved))[1]["verdict"] == "strong"
    status, result = one(project, str(project.kata("causal_mask", TEXTBOOK)))
    assert (status, result["verdict"]) == (0, "pass")
    assert {c["level"] for c in result["checks"] if c["outcome"] == "failed"} == {"follow-up"}


def test_a_mistake_is_in_the_json_by_name(project: Project) -> None:
    path = project.kata("causal_mask", REVERSED)
    status, result = one(project, str(path), "--seed", "3")
    assert status == 1
    assert result["verdict"] == "fail"
    assert result["file"] == str(path)
    assert [(m["name"], m["kind"]) for m in result["mistakes"]] == [("reversed_mask", "fault")]
    assert {c["name"] for c in result["checks"]} == {c.name for c in outline.outline("causal_mask").checks}
    assert result["seconds"] > 0
    assert result["peak_bytes"] > 0


def test_the_text_names_the_mistake_within_80_columns(project: Project) -> None:
    path = project.kata("causal_mask", REVERSED)
    done = project.run("-m", "harness", "grade", str(path), "--seed", "5")
    assert done.returncode == 1
    assert "FAIL as causal_mask" in done.stdout
    assert done.stdout.count("reversed_mask") == 1
    assert "--seed 5" in done.stdout
    assert all(len(line) <= 80 or str(path) in line for line in done.stdout.splitlines())
    assert done.stderr == ""


def test_an_untouched_stub_fails_as_not_started(project: Project) -> None:
    status, result = one(project, str(project.folder / "katas" / "causal_mask.py"))
    assert (status, result["verdict"]) == (1, "fail")
    assert {c["outcome"] for c in result["checks"]} == {"not started"}
    assert result["says"] == "not started"


@pytest.mark.parametrize("name", ["causal_mask.py", "team3_causal_mask.py", "anything.py", "with spaces 'n $quotes.py"])
def test_the_kata_is_found_by_file_name_or_by_functions(project: Project, name: str) -> None:
    path = project.folder / name
    path.write_text(TEXTBOOK)
    assert one(project, str(path))[1]["kata"] == "causal_mask"


def test_the_kata_can_be_given(project: Project) -> None:
    path = project.folder / "split_heads.py"
    path.write_text(TEXTBOOK)
    assert one(project, str(path), "--kata", "causal_mask")[1]["verdict"] == "pass"
    assert one(project, str(path))[1]["says"] == "the file defines no split_heads and no merge_heads"


def test_what_cannot_be_graded_is_a_result_with_the_reason(project: Project) -> None:
    folder = project.folder
    (folder / "other.py").write_text("x = 1\n")
    (folder / "causal_mask_dir.py").mkdir()
    os.mkfifo(folder / "fifo_causal_mask.py")
    (folder / "loop_causal_mask.py").symlink_to("loop_causal_mask.py")
    (folder / "big_causal_mask.py").write_text("#" * (2 << 20))
    (folder / "null_causal_mask.py").write_text("x = '\0'\n")
    (folder / "utf16_causal_mask.py").write_text(TEXTBOOK, encoding="utf-16")
    reasons = {
        "missing_causal_mask.py": "no such file",
        "other.py": "use --kata NAME",
        "causal_mask_dir.py": "is a directory",
        "fifo_causal_mask.py": "not a regular file",
        "loop_causal_mask.py": "levels of symbolic links",
        "big_causal_mask.py": "too large",
        "null_causal_mask.py": "null bytes",
        "utf16_causal_mask.py": "null bytes",
    }
    for name, words in reasons.items():
        status, result = one(project, str(folder / name))
        assert (status, result["verdict"]) == (1, "broken"), name
        assert words in result["says"], name
        assert result["checks"] == []


def test_encodings_that_python_reads_are_read(project: Project) -> None:
    path = project.folder / "causal_mask.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + TEXTBOOK.encode())
    assert one(project, str(path))[1]["verdict"] == "pass"
    path.write_text("\ufeff" + TEXTBOOK, encoding="utf-8")
    assert one(project, str(path))[1]["verdict"] == "pass"


def test_prints_never_reach_the_json(project: Project) -> None:
    loud = 'import os\nprint("{}")\nos.write(1, b"[]")\n'
    loud += TEXTBOOK.replace("    return", "    print('{}')\n    return")
    assert one(project, str(project.kata("causal_mask", loud)))[1]["verdict"] == "pass"


def test_katas_is_the_submissions_own_folder(project: Project) -> None:
    project.solve("stable_softmax")
    team = project.folder / "team"
    team.mkdir()
    (team / "helper.py").write_text("AHEAD = 1\n")
    body = TEXTBOOK.replace("(n, n), bool), 1)", "(n, n), bool), AHEAD)")
    (team / "causal_mask.py").write_text("from katas.helper import AHEAD\n" + body)
    assert one(project, str(team / "causal_mask.py"))[1]["verdict"] == "pass"
    (team / "causal_mask.py").write_text("import katas.stable_softmax\n" + body)
    assert "No module named 'katas.stable_softmax'" in one(project, str(team / "causal_mask.py"))[1]["says"]


def test_a_seed_replays_and_answers_for_known_lengths_fail(project: Project) -> None:
    path = project.kata("causal_mask", TEXTBOOK + "    # right at the lengths in the examples alone\n")
    table = TEXTBOOK.replace("return", "if n > 5:\n        return np.zeros((n, n), bool)\n    return")
    path.write_text(table)
    first, second = (one(project, str(path), "--seed", "11")[1] for _ in range(2))
    assert first["verdict"] == "fail"
    assert first["checks"] == second["checks"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grade"], "required: FILE"),
        (["grade", "x.py", "--kata", "causal_msk"], "did you mean causal_mask?"),
        (["grade", "x.py", "--kata", "../../x"], "there is no kata"),
        (["grade", "x.py", "--seed", "-1"], "whole number"),
        (["grade", "x.py", "--sed", "1"], "unrecognized arguments"),
        (["nonsense"], "kata --help lists them"),
        (["grad"], "did you mean grade?"),
        (["causal_mask"], "kata check causal_mask"),
    ],
)
def test_usage_errors_exit_with_2(project: Project, words: list[str], says: str) -> None:
    done = project.run("-m", "harness", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_version_and_help(project: Project) -> None:
    assert project.run("-m", "harness", "--version").stdout.startswith("kata-kit ")
    shown = project.run("-m", "harness", "grade", "--help").stdout
    assert "examples:" in shown
    assert "exit status:" in shown
