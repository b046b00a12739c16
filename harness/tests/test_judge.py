"""The one door: whatever a submission does, it costs its own verdict and nothing else."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.judge import Judge, Limits, Session
from harness.model import Answer, Call, Signature
from harness.wire import Handle

QUICK = Limits(load=1.5, call=1.0, total=3.0)


@pytest.fixture(params=["fork", "spawn"])
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    monkeypatch.setenv("KATA_WORKER", request.param)
    with Judge(QUICK) as judge:
        yield judge


def load(judge: Judge, folder: Path, body: str, name: str = "f") -> Session:
    path = folder / "causal_mask.py"
    path.write_text(body, encoding="utf-8")
    return judge.open(path, path.read_bytes(), "causal_mask", {name: Signature(f"{name}(x)", ("x",), 1)}).loaded()


def ask(session: Session, *args: object) -> Answer:
    return next(iter(session.ask([Call("f", args, ("x",))])))


DEADLY = {
    "os._exit(0)": "ended (exit status 0)",
    "os.kill(os.getpid(), 9)": "SIGKILL",
    "os.abort()": "SIGABRT",
    "ctypes.string_at(0)": "SIGSEGV",
    "os.killpg(0, 9)": "SIGKILL",
    "while_true()": "reached the time limit of 1 s",
    "swallow()": "reached the time limit of 1 s",
    "os.kill(os.getpid(), 19)": "reached the time limit of 1 s",
    "os.closerange(3, 99); while_true()": "hung up in f",
    "[os.write(fd, b'rubbish' * 99) for fd in range(3, 30) if is_socket(fd)]": "no answer",
}
PREAMBLE = """
import ctypes, os, stat, time
def while_true():
    while True: pass
def swallow():
    while True:
        try: time.sleep(9)
        except BaseException: pass
def is_socket(fd):
    try: return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError: return False
def f(x):
    if x: %s
    return x
"""


@pytest.mark.parametrize("deed", DEADLY)
def test_a_deadly_call_is_named_and_the_next_answers_the_same_at_once(quick: Judge, tmp_path: Path, deed: str) -> None:
    session = load(quick, tmp_path, PREAMBLE % deed)
    assert ask(session, 0).value == 0
    answer = ask(session, 1)
    assert answer.raised is not None
    assert answer.raised.fatal
    assert DEADLY[deed] in answer.raised.message
    start = time.monotonic()
    assert ask(session, 0).raised == answer.raised
    assert time.monotonic() - start < 0.5
    session.close()
    assert ask(load(quick, tmp_path, PREAMBLE % "pass"), 5).value == 5


def test_the_total_time_is_limited_too(quick: Judge, tmp_path: Path) -> None:
    session = load(quick, tmp_path, "import time\ndef f(x):\n    time.sleep(0.8)\n    return x\n")
    answers = list(session.ask([Call("f", (n,)) for n in range(8)]))
    assert answers[0].value == 0
    last = answers[-1].raised
    assert last is not None
    assert "reached the time limit of 3 s" in last.message


def test_exceptions_of_every_kind_are_answers(quick: Judge, tmp_path: Path) -> None:
    body = """
class Meta(type):
    def __getattribute__(cls, name): raise RuntimeError
class Odd(Exception, metaclass=Meta):
    def __str__(self): return 3
def f(x):
    if x == 0: raise ValueError("bad \\ud800 \\x00 \\x1b[31m text")
    if x == 1: raise Odd
    if x == 2: raise KeyboardInterrupt
    if x == 3: raise SystemExit(4)
    if x == 4: return f(4)
    return 1 / 0
"""
    session = load(quick, tmp_path, body)
    raised = [ask(session, n).raised for n in range(6)]
    assert [r.type for r in raised if r] == [
        "ValueError",
        "Odd",
        "KeyboardInterrupt",
        "SystemExit",
        "RecursionError",
        "ZeroDivisionError",
    ]
    assert raised[0] and raised[0].message == "bad \\ud800 \\x00 \\x1b[31m text"
    assert raised[3] and raised[3].message == "called sys.exit(4)"
    last = raised[5]
    assert last and [(frame.line, frame.source) for frame in last.frames] == [(12, "return 1 / 0")]


def test_changed_inputs_warnings_and_prints_are_reported(quick: Judge, tmp_path: Path) -> None:
    body = """
import numpy as np
def f(x):
    print("seen", x["w"].flags.writeable)
    x["w"][0] = 5
    return np.log(x["w"] - 5)
"""
    answer = ask(load(quick, tmp_path, body), {"w": np.ones(3)})
    assert answer.changed == ('x["w"]',)
    assert answer.prints == "seen True\n"
    assert [(w.category, w.line) for w in answer.warnings] == [("RuntimeWarning", 6)] * 2
    frozen = np.ones(3)
    frozen.flags.writeable = False
    refused = ask(load(quick, tmp_path, body), {"w": frozen})
    assert refused.raised and refused.raised.message == "assignment destination is read-only"


def test_a_dict_that_is_changed_is_reported(quick: Judge, tmp_path: Path) -> None:
    body = "def f(x):\n    x['n'] = 3\n    x['b'] = x.pop('a')\n    x['w'] = x['w'].copy()\n    return x['b']\n"
    session = load(quick, tmp_path, body)
    changed = ask(session, {"a": np.ones(2), "w": np.ones(2), "same": np.ones(2)}).changed
    assert set(changed) == {'x["n"]', 'x["a"]', 'x["b"]', 'x["w"]'}


def test_a_flood_of_prints_is_cut(quick: Judge, tmp_path: Path) -> None:
    answer = ask(load(quick, tmp_path, "def f(x):\n    print('y' * 3_000_000)\n    return x\n"), 1)
    assert answer.value == 1
    assert len(answer.prints) < 100_000
    assert answer.prints.endswith("[cut: more was printed]")


def test_what_cannot_cross_is_an_opaque_handle(quick: Judge, tmp_path: Path) -> None:
    body = """
import numpy as np
class Cache: steps = 3
def f(x): return Cache() if x == 0 else x.steps if isinstance(x, Cache) else np.ma.masked_array([1.0])
"""
    session = load(quick, tmp_path, body)
    cache = ask(session, 0).value
    assert isinstance(cache, Handle)
    assert cache.type == "Cache"
    assert ask(session, cache).value == 3
    assert ask(session, 1).value.type == "MaskedArray"


def test_the_kit_cannot_be_imported_and_katas_is_the_submissions_folder(quick: Judge, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("VALUE = 7\n")
    body = """
from katas.other import VALUE
def f(x):
    import importlib
    importlib.import_module(x)
"""
    session = load(quick, tmp_path, body)
    for name in ("harness.registry", "harness.checks.causal_mask", "solutions.causal_mask", "katas.split_heads"):
        answer = ask(session, name)
        assert answer.raised and answer.raised.type == "ModuleNotFoundError", name


def test_a_dataclass_under_future_annotations_loads(quick: Judge, tmp_path: Path) -> None:
    body = """
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Block: width: int
def f(x): return Block(x).width
"""
    assert ask(load(quick, tmp_path, body), 4).value == 4


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def f(x:\n", "SyntaxError"),
        ("import sys\nsys.exit('no')\n", "called sys.exit(no)"),
        ("1/0\n", "ZeroDivisionError"),
        ("def g(x): pass\n", "defines no f"),
        ("import os\nos._exit(3)\n", "ended (exit status 3) in importing"),
        ("while True: pass\n", "limit of 1.5 s in importing"),
        ("x = " + "-" * 30_000 + "1\ndef f(x): pass\n", "Recursion|Memory|SIGSEGV|too many|nest|complex"),
        ("\0", "null"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(quick: Judge, tmp_path: Path, body: str, words: str) -> None:
    broken = load(quick, tmp_path, body).broken
    assert broken is not None
    assert any(word in f"{broken.type}: {broken.message}" for word in words.split("|")), broken


@pytest.mark.parametrize("body", ["f = 3\n", "def f(): pass\n", "def f(x, y): pass\n"])
def test_a_wrong_signature_says_what_it_should_be(quick: Judge, tmp_path: Path, body: str) -> None:
    session = load(quick, tmp_path, body)
    assert session.broken is None
    assert "should be" in session.misfit


def test_nothing_is_left_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Judge(QUICK) as judge:
        for _ in range(3):
            assert ask(load(judge, tmp_path, "import os\ndef f(x): return os.getpid()\n"), 0).value
        assert [path for path in tmp_path.iterdir() if path.name.startswith("kata-")]
    assert [path.name for path in tmp_path.iterdir()] == ["causal_mask.py"]
