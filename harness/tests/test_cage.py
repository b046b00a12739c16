"""The level of isolation is found out, named and kept to; and nothing outlives a judge that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import linux, walls
from harness.judge import Judge, Limits
from harness.model import Answer, Call, Signature
from harness.outline import ROOT
from harness.tests.processes import alive, descendants

WANTED = {"f": Signature("f(x)", ("x",), 1)}
EVAL = "import ctypes, os, sys\ndef f(x): return eval(x)\n"


def ask(path: Path, source: str, *questions: str) -> tuple[tuple[str, ...], list[Answer]]:
    path.write_text(source, encoding="utf-8")
    with Judge(Limits(5, 5, 10)) as judge:
        session = judge.open(path, path.read_bytes(), path.stem, WANTED).loaded()
        return session.isolation, list(session.ask([Call("f", (question,), ("x",)) for question in questions]))


@pytest.mark.parametrize("without", ["", "namespaces", "namespaces uid", "namespaces uid landlock", "seccomp"])
def test_what_is_left_out_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    monkeypatch.setenv("KATA_WITHOUT", without)
    words, (answer,) = ask(tmp_path / "a.py", EVAL, "7")
    assert answer.value == 7
    assert not set(without.split()) & set(words)
    assert words[-1] == "process"
    monkeypatch.setenv("KATA_WORKER", "spawn")
    assert ask(tmp_path / "a.py", EVAL, "7")[0] == words


def test_each_level_keeps_its_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ROOT / "solutions" / "causal_mask.py"
    probes = f"ctypes.CDLL(None).open({os.fsencode(secret)!r}, 0)", "os.getuid()", "os.getpid()"
    for without in ("", "namespaces"):
        monkeypatch.setenv("KATA_WITHOUT", without)
        words, (kit, uid, pid) = ask(tmp_path / "a.py", EVAL, *probes)
        assert kit.value == -1 or not {"namespaces", "landlock"} & set(words)
        assert (uid.value != os.getuid()) == ("uid" in words)
        assert (pid.value == 2) == ("namespaces" in words)


@pytest.mark.parametrize("without", ["", "namespaces"])
def test_katas_beside_it_can_be_imported_and_show_in_tracebacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.setenv("KATA_WITHOUT", without)
    (tmp_path / "third.py").write_text("def fails():\n    return 1 / 0\n")
    (tmp_path / "other.py").write_text("from katas.third import fails\n")
    source = "import inspect\nfrom katas.other import fails\n"
    questions = "fails()", "inspect.getsource(fails)"
    _, (failed, source_of) = ask(tmp_path / "a.py", source + "def f(x):\n    return eval(x)\n", *questions)
    assert failed.raised is not None
    last = failed.raised.frames[-1]
    assert (last.path, last.line, last.source) == (str(tmp_path / "third.py"), 2, "return 1 / 0")
    assert source_of.value == "def fails():\n    return 1 / 0\n"


@pytest.mark.parametrize("env", [{}, {"KATA_WITHOUT": "namespaces"}, {"KATA_WORKER": "spawn"}], ids=str)
def test_nothing_outlives_a_judge_that_is_killed(tmp_path: Path, env: dict[str, str]) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    daemon = "if not os.fork():\n    os.fork()\n    while True: pass\n"
    (tmp_path / "causal_mask.py").write_text(f"import os\n{daemon}while True: pass\n")
    words = [sys.executable, "-m", "harness", "grade", str(tmp_path / "causal_mask.py")]
    whole = {**os.environ, **env, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(words, env=whole, stdout=subprocess.DEVNULL)
    while len(started := descendants(running.pid)) < 5:  # the parent of workers, a keeper, the worker, its two daemons
        time.sleep(0.02)
        assert running.poll() is None
    running.kill()
    running.wait()
    end = time.monotonic() + 10
    while time.monotonic() < end and (list(temporary.iterdir()) or any(map(alive, started))):
        time.sleep(0.02)
    assert list(temporary.iterdir()) == []
    assert [pid for pid in started if alive(pid)] == []


def test_a_folder_is_opened_around_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a", "b/secret", "b/c"):
        (tmp_path / name).mkdir(parents=True)
    shown = walls.around(str(tmp_path), [str((tmp_path / "b" / "secret").resolve())])
    assert sorted(shown) == [str(tmp_path / "a"), str(tmp_path / "b" / "c")]


def test_what_the_kernel_refuses_is_an_oserror() -> None:
    with pytest.raises(OSError, match="mount"):
        linux.mount("none", "/no/such/place", "tmpfs", 0)
