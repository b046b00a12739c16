"""`kata watch` in a process of its own, with an editor beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import outline
from harness.tests.project import Project

SOLVED = (outline.SOLUTIONS / "causal_mask.py").read_text()
WRONG = SOLVED.replace("k=1", "k=-1").replace("np.triu", "np.tril")
UNTIL = Callable[[str], str]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


@contextmanager
def watching(project: Project, *words: str) -> Iterator[tuple[subprocess.Popen[str], UNTIL]]:
    """A running watch, and a way to read on until a line holds some words."""
    watch = subprocess.Popen(
        [sys.executable, "-u", "-m", "harness", "watch", *words],
        cwd=project.folder,
        env={**{k: v for k, v in os.environ.items() if k != "KATA_HOME"}, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert watch.stdout

    def until(says: str) -> str:
        text = ""
        for line in watch.stdout or ():
            text += line
            if says in line:
                return text
        raise AssertionError(f"ended without {says!r}:\n{text}")

    try:
        yield watch, until
    finally:
        watch.kill()
        watch.wait()
        watch.stdout.close()


def renamed(path: Path, source: str) -> None:
    """Save as most editors do: a new file takes the place of the old one."""
    beside = path.with_suffix(".tmp")
    beside.write_text(source)
    beside.replace(path)


def checks(project: Project) -> list[tuple[str, str, str]]:
    lines = (project.folder / ".kata" / "history.jsonl").read_text().splitlines()
    found = [event for event in map(json.loads, lines) if event["event"] == "check"]
    return [(event["kata"], event["verdict"], event["by"]) for event in found]


def test_each_save_is_checked_and_a_pass_moves_on(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    with watching(project) as (watch, until):
        assert "Causal mask" in until("checked ")
        renamed(path, WRONG)
        shown = until("checked ")
        assert "katas/causal_mask.py: FAIL" in shown
        assert "reversed_mask" in shown
        path.write_text(SOLVED.replace("k=1", "k=0"))  # in place
        assert "diagonal_blocked" in until("checked ")
        path.unlink()
        path.write_text(WRONG)  # gone for a moment
        assert "reversed_mask" in until("checked ")
        renamed(path, SOLVED)
        shown = until("checked ")
        assert "katas/causal_mask.py: STRONG" in shown
        assert "Not started: write it in katas/stable_softmax.py:" in shown
        renamed(project.folder / "katas" / "stable_softmax.py", "def stable_softmax(:\n")
        assert "katas/stable_softmax.py: BROKEN" in until("checked ")
        watch.send_signal(signal.SIGINT)
        assert "ended" in until("ended")
        assert watch.wait(30) == 0
    assert checks(project) == [
        *(("causal_mask", verdict, "watch") for verdict in ("fail", "fail", "fail", "strong")),
        ("stable_softmax", "broken", "watch"),
    ]


def test_a_file_that_is_missing_at_first_is_met_when_it_comes(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.unlink()
    with watching(project, "causal") as (_, until):
        assert "no such file" in until("checked ")
        renamed(path, WRONG)
        assert "reversed_mask" in until("checked ")


def test_what_passes_already_stays_to_be_worked_on(project: Project) -> None:
    path = project.solve("causal_mask", ("length < 1", "length < -9"))
    with watching(project, "causal") as (_, until):
        assert "follow-ups still open" in until("checked ")
        renamed(path, SOLVED)
        assert "katas/causal_mask.py: STRONG" in until("katas/causal_mask.py:")


def test_the_end_of_the_last_one(project: Project) -> None:
    for name in outline.names():
        project.solve(name)
    path = project.kata("causal_mask", WRONG)
    with watching(project) as (watch, until):
        until("checked ")
        renamed(path, SOLVED)
        assert "STRONG" in until("Nothing is left")
        assert watch.wait(30) == 0


@pytest.mark.parametrize(("rows", "columns"), [(12, 60), (24, 80)])
def test_on_a_terminal_it_is_one_screen(project: Project, rows: int, columns: int) -> None:
    project.kata("causal_mask", WRONG)
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    env = {k: v for k, v in os.environ.items() if k not in ("KATA_HOME", "COLUMNS", "LINES")}
    words = [sys.executable, "-m", "harness", "watch"]
    watch = subprocess.Popen(words, cwd=project.folder, env={**env, "TERM": "xterm"}, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        shown = b""
        while b"Ctrl-C ends" not in shown:
            shown += os.read(ours, 4096)
    finally:
        watch.kill()
        watch.wait()
        os.close(ours)
    _, screen = shown.decode().split("\x1b[H\x1b[2J")
    lines = screen.replace("\x1b[3J", "").splitlines()
    assert lines[0].startswith("katas/causal_mask.py: FAIL")
    assert sum(max(1, -(-len(line) // columns)) for line in lines) < rows
    assert any(line.startswith("[...]") for line in lines)


def test_ctrl_c_during_another_command_is_one_line(project: Project) -> None:
    words = [sys.executable, "-u", "-m", "harness", "quiz", "causal"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=project.folder, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as quiz:
        assert quiz.stdout
        assert quiz.stdout.readline().startswith("1 of 5")
        while quiz.stdout.read(1) != ":":  # it waits for the answer
            pass
        quiz.send_signal(signal.SIGINT)
        _, said = quiz.communicate(timeout=60)
    assert said == "\nkata quiz: interrupted\n"
    assert quiz.returncode == 130


def test_it_ends_with_its_process(project: Project) -> None:
    project.kata("causal_mask", WRONG)
    with watching(project) as (watch, until):
        until("checked ")
        os.kill(watch.pid, signal.SIGTERM)
        assert watch.wait(30) == -signal.SIGTERM


def test_a_worker_that_was_killed_is_replaced(project: Project) -> None:
    path = project.kata("causal_mask", WRONG)
    with watching(project) as (watch, until):
        until("checked ")
        for child in Path(f"/proc/{watch.pid}/task/{watch.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        renamed(path, WRONG + "# again\n")
        assert "reversed_mask" in until("checked ")
