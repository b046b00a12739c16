"""`kata grade` for folders, other programs and interruptions; one file is graded in test_cli."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness import registry
from harness.cli import MODULES, main
from harness.cli.common import Parser
from harness.outline import ROOT

REVERSED = "import numpy as np\n\ndef causal_mask(length):\n    return np.tril(np.ones((length, length), bool), -1)\n"
TABLE = """import numpy as np

def causal_mask(n):
    known = n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 65, 300)
    return np.triu(np.ones((n, n), bool), 1) if known else np.zeros((n, n), bool)
"""
WAITS = "import time\ntime.sleep(60)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class" / "team3").mkdir(parents=True)
    (tmp_path / "class" / "team3" / "causal_mask.py").write_text(registry.solution("causal_mask").source)
    (tmp_path / "class" / "bob_causal_mask.py").write_text(REVERSED)
    (tmp_path / "class" / "notes.txt").write_text("notes")
    return tmp_path


def test_a_folder_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(folder / "missing.py")
    assert main(["grade", "--json", str(folder / "class"), missing]) == 1
    whole = json.loads(capsys.readouterr().out)
    got = [(Path(r["file"]).name, r["submitter"], r["verdict"]) for r in whole["results"]]
    assert got == [
        ("bob_causal_mask.py", "bob", "fail"),
        ("causal_mask.py", "team3", "strong"),
        ("missing.py", "missing", "broken"),
    ]
    assert [m["name"] for m in whole["results"][0]["mistakes"]] == ["reversed_mask"]
    assert whole["skipped"] == [{"file": str(folder / "class" / "notes.txt"), "why": "is not a Python file"}]


def test_a_folder_as_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(folder / "class"), "--seed", "4"]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "bob         causal_mask  fail" in shown.out
    assert "1 of 2  causal_mask: reversed_mask" in shown.out
    assert "notes.txt: is not a Python file" in shown.out
    assert "--seed 4" in shown.out


def test_every_file_is_written(folder: Path) -> None:
    outputs = {o: str(folder / f"out.{o}") for o in ("junit", "gradescope", "csv", "html")}
    words = [word for option, path in outputs.items() for word in (f"--{option}", path)]
    assert main(["grade", str(folder / "class"), *words]) == 1
    assert ElementTree.parse(outputs["junit"]).getroot().tag == "testsuites"
    assert json.loads(Path(outputs["gradescope"]).read_text())["tests"]
    assert len(list(csv.reader(Path(outputs["csv"]).read_text().splitlines()))) == 3
    assert "One of two: reversed_mask" in Path(outputs["html"]).read_text()
    assert {p.name for p in folder.iterdir()} == {"class", *(Path(p).name for p in outputs.values())}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--csv", "no/such/folder.csv"], "there is no folder"),
        (["--html", "."], "is a folder"),
        (["--junit", "x.py"], "write over a submission"),
        (["--jobs", "0"], "from 1"),
        (["--limit", "0"], "above 0"),
        (["--limit", "nan"], "above 0"),
    ],
)
def test_usage_errors(folder: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(folder / "class"), *words]) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.out == ""


def test_answers_for_known_lengths_fail_at_every_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "causal_mask.py").write_text(TABLE)
    for _ in range(3):
        assert main(["grade", "--json", str(tmp_path)]) == 1
        assert json.loads(capsys.readouterr().out)["results"][0]["verdict"] == "fail"


def start(*words: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness", "grade", *words]
    return subprocess.Popen(command, env=env, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=stderr)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_ends_it_with_what_is_finished(
    folder: Path, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KATA_WITHOUT", "namespaces uid landlock")  # the submission tells by a file that it runs
    for number in range(8):
        (folder / "class" / f"z{number}_causal_mask.py").write_text(WAITS)
    marker = folder / "started"
    (folder / "class" / "y_causal_mask.py").write_text(
        "import ctypes, time\n\ndef causal_mask(length):\n"
        f"    ctypes.CDLL(None).creat({os.fsencode(marker)!r}, 0o600)\n    time.sleep(60)\n"
    )
    words = [str(folder / "class"), "--json", "--jobs", jobs, "--limit", "600"]
    running = start(*words)
    assert running.stdout is not None
    while not marker.exists():
        os.sched_yield()
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    whole = json.loads(out)
    assert whole["interrupted"] is True
    verdicts = {r["verdict"] for r in whole["results"]}
    assert verdicts == {"fail", "strong"} if jobs == "1" else verdicts and verdicts <= {"fail", "strong"}
    assert "are graded" in err
    assert "Traceback" not in err


def test_a_progress_line_on_a_terminal_alone(folder: Path) -> None:
    slow = "import time\ntime.sleep(0.4)\n" + REVERSED
    for number in range(3):
        (folder / "class" / f"slow{number}_causal_mask.py").write_text(slow)
    ours, theirs = pty.openpty()
    running = start(str(folder / "class"), "--jobs", "1", stderr=theirs)
    os.close(theirs)
    out = running.communicate(timeout=60)[0]
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    assert "of 5 graded" in shown
    assert shown.endswith("\x1b[K")
    assert "graded" not in out.replace("none graded", "")
    assert start(str(folder / "class")).communicate(timeout=60)[1] == ""


def test_each_module_adds_the_commands_that_it_is_listed_with() -> None:
    for module, names in MODULES.items():
        commands = Parser().add_subparsers()
        import_module(f"harness.cli.{module}").add(commands)
        assert tuple(commands.choices) == names
