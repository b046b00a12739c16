"""The record of everything done: nothing earlier is lost, whatever happens while it is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.history import History
from harness.tests.project import Project

HINT = {"v": 1, "at": "2026-11-01T10:00:00.000Z", "event": "hint", "kata": "causal_mask", "number": 1}
WRITER = "import sys\nfrom harness.history import History\nhistory = History()\n"
FOREVER = WRITER + "for n in range(10**9):\n    history.append('loop', n=n)\n    print(n, flush=True)\n"
TWO_HUNDRED = WRITER + "for n in range(200):\n    history.append('count', who=sys.argv[1], n=n, pad='x' * 500)\n"
LIMITED = (
    "import os, resource\nfrom harness.history import History\nhistory = History()\n"
    "size = os.path.getsize(history.path) + 20\nresource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n"
    "history.append('hint', kata='causal_mask')\nprint(history.problem)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def told(project: Project, **env: str) -> dict[str, Any]:
    """The document of `kata history --json`."""
    done = project.run("-m", "harness", "history", "--json", **env)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert set(document) == {"version", "events", "damaged"}
    return document


def start(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True)


def test_what_was_appended_is_read_again(home: Path) -> None:
    History().append("hint", kata="causal_mask", number=2, text="é ✓")
    [event] = History().events()
    assert (event["v"], event["event"], event["number"], event["text"]) == (1, "hint", 2, "é ✓")
    assert event["at"].endswith("Z")
    assert (home / "history.jsonl").read_bytes().isascii()


def test_a_torn_last_line_costs_that_line_alone(project: Project) -> None:
    folder = project.folder / ".kata"
    folder.mkdir()
    whole = json.dumps(HINT).encode()
    (folder / "history.jsonl").write_bytes(whole + b"\n" + whole[:25])
    project.solve("causal_mask")
    project.run("-m", "harness", "check", "causal_mask")
    document = told(project)
    assert [e["event"] for e in document["events"]] == ["hint", "check"]
    assert document["damaged"] == [2]
    assert (folder / "history.jsonl").read_bytes().startswith(whole + b"\n" + whole[:25] + b"\n")
    assert "not read: 1 damaged (2)" in project.run("-m", "harness", "history").stderr


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"v": 2, "at": "2026-11-01T10:00:00Z", "event": "hint"}',
        b'{"v": 1, "at": "yesterday", "event": "hint"}',
        b'{"v": 1, "at": 5, "event": "hint"}',
        b'{"v": 1, "at": "2026-11-01T10:00:00Z", "event": ["hint"]}',
    ],
)
def test_a_strange_line_is_counted_and_left(home: Path, line: bytes) -> None:
    home.mkdir()
    text = line + b"\n" + json.dumps(HINT).encode() + b"\n"
    (home / "history.jsonl").write_bytes(text)
    history = History()
    assert history.events() == [HINT]
    assert history.damaged == (1,)
    history.append("reset", kata="causal_mask")
    assert (home / "history.jsonl").read_bytes().startswith(text)
    assert [e["event"] for e in History().events()] == ["hint", "reset"]


def test_strange_facts_do_not_stop_a_command(project: Project) -> None:
    (project.folder / ".kata").mkdir()
    base = {"v": 1, "at": "2026-11-01T10:00:00Z", "kata": "causal_mask"}
    strange: list[dict[str, Any]] = [
        {"event": "check", "mistakes": 5},
        {"event": "interviewed", "verdict": "pass", "seconds": "long"},
        {"event": "check", "core": "all", "verdict": None},
        {"event": "interviewed", "verdict": "pass", "seconds": float("inf"), "par": float("nan")},
        {"event": "mock", "do": "start", "questions": 7},
        {"event": "mock", "id": float("inf"), "do": "start", "questions": []},
        {"event": "mock", "id": 1, "do": "submit"},
        {"event": "quiz", "rating": "high", "question": None},
        {"event": "unheard of"},
    ]
    lines = "".join(json.dumps({**base, **facts}) + "\n" for facts in strange)
    (project.folder / ".kata" / "history.jsonl").write_text(lines)
    for words in ([], ["history"], ["attempts", "causal"], ["quiz", "causal"]):
        done = project.run("-m", "harness", *words)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "yesterday", 5])
def test_an_event_at_no_real_time_is_a_damaged_line(project: Project, at: object) -> None:
    (project.folder / ".kata").mkdir()
    line = json.dumps(
        {"v": 1, "at": at, "event": "interviewed", "kata": "causal_mask", "verdict": "pass", "seconds": 1}
    )
    (project.folder / ".kata" / "history.jsonl").write_text(line + "\n")
    for words in ([], ["history"], ["debrief"]):
        assert "the kit itself failed" not in project.run("-m", "harness", *words).stderr


def test_two_writers_at_once_lose_nothing(home: Path) -> None:
    writers = [start(TWO_HUNDRED, who) for who in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len((home / "history.jsonl").read_bytes().splitlines()) == 400
    for who in "ab":
        assert [e["n"] for e in History().events("count") if e["who"] == who] == list(range(200))


def test_a_kill_while_writing_loses_nothing_earlier(home: Path) -> None:
    for acknowledged in (1, 5, 40):
        writer = start(FOREVER)
        assert writer.stdout
        before = len(History().events())
        for _ in range(acknowledged):
            assert writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        after = len(History().events())
        assert after >= before + acknowledged
        History().append("next")
        assert History().events()[-1]["event"] == "next"
        assert len(History().events()) == after + 1


def test_a_line_that_does_not_fit_is_taken_back(home: Path) -> None:
    History().append("hint", kata="causal_mask")
    before = (home / "history.jsonl").read_bytes()
    writer = start(LIMITED)
    said, _ = writer.communicate(timeout=60)
    assert "history.jsonl" in said
    assert (home / "history.jsonl").read_bytes() == before


def test_a_full_disk_spoils_no_verdict_and_is_said(project: Project) -> None:
    project.solve("causal_mask")
    (project.folder / ".kata").mkdir()
    (project.folder / ".kata" / "history.jsonl").symlink_to("/dev/full")
    done = project.run("-m", "harness", "check", "causal_mask")
    assert done.returncode == 0
    assert "STRONG" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("kata: not saved (check): ")
    assert "history.jsonl: No space left on device" in line
    done = project.pytest("katas/causal_mask.py")
    assert done.returncode == 0
    assert "history.jsonl: No space left on device" in done.stdout


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_home_that_cannot_be_written_is_said(project: Project, below: str) -> None:
    project.solve("causal_mask")
    file = project.folder / "a file"
    file.write_text("mine")
    done = project.run("-m", "harness", "check", KATA_HOME=str(file / below))
    assert done.returncode == 0
    assert "not saved (check): " in done.stderr
    assert str(file) in done.stderr
    assert file.read_text() == "mine"
    assert "not saved: " in project.pytest("katas/causal_mask.py", KATA_HOME=str(file / below)).stdout
    assert project.run("-m", "harness", KATA_HOME=str(file / below)).stdout.count("strong") == 1


def test_history_in_plain_words(project: Project) -> None:
    project.solve("causal_mask", ("np.triu", "np.tril"), ("k=1", "k=-1"))
    project.pytest("katas/causal_mask.py")
    project.pytest("katas/causal_mask.py", "-k", "direction")  # a part says nothing of the whole
    project.run("-m", "harness", "hint", "causal_mask")
    project.run("-m", "harness", "reset", "causal_mask")
    lines = project.run("-m", "harness", "history").stdout.splitlines()
    assert [line[18:] for line in lines] == [
        "causal_mask: fail, 2 of 4 core checks (reversed_mask), by pytest",
        "causal_mask: hint 1 about reversed_mask",
        "causal_mask: back to the stub, attempt 1 kept",
    ]
    assert project.run("-m", "harness", "history", "split_heads").stdout == "nothing yet\n"
    [check, _, _] = told(project)["events"]
    assert set(check) >= {"kata", "verdict", "mistakes", "says", "core", "digest", "by", "seconds"}
