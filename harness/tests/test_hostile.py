"""Files that mean harm, at each level of isolation: each costs its own verdict, says why, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.judge import Judge, Limits, Session
from harness.model import Answer, Call, Signature
from harness.outline import ROOT
from harness.tests.processes import descendants

LEVELS = {
    "fork": {},
    "spawn": {"KATA_WORKER": "spawn"},
    "no namespaces": {"KATA_WITHOUT": "namespaces"},
    "no walls": {"KATA_WITHOUT": "namespaces uid landlock"},
}
LIMITS = Limits(load=6.0, call=1.0, total=8.0)
HEAD = """
import ctypes, json, os, resource, signal, socket, stat, struct, subprocess, sys, threading, time
import numpy as np
libc = ctypes.CDLL(None, use_errno=True)
def forever():
    while True: pass
def wires():
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def frame(head, body=b"", size=None):
    head = head if type(head) is bytes else json.dumps(head).encode()
    data = struct.pack("<Q", len(head)) + head
    data += bytes(-len(data) % 16) + body
    return struct.pack("<Q", len(data) if size is None else size) + data
def send(data):
    for fd in wires(): os.write(fd, data)
    time.sleep(9)
def answer(value, **more):
    rest = {"warnings": [], "changed": [], "prints": "", "seconds": 0.1, "peak_bytes": 1} | more
    return {"dict": [["value", value], *[[k, v] for k, v in rest.items()]]}
def quietly(function, *args):
    try: return function(*args)
    except Exception as error: return type(error).__name__
def f(x, judge, place):
"""
TIME = "reached the time limit of 1 s in f"
RUBBISH = "wrote bytes into the pipe that are no answer"
# what a call does, and the whole of what may be said of it; `ok` is the right answer
DEEDS: dict[str, tuple[str, str]] = {
    "a daemon": ("if not os.fork():\n  if os.fork(): os._exit(0)\n  quietly(os.setsid); time.sleep(99)", "ok"),
    "many daemons": (
        "for _ in range(20):\n  if not os.fork(): signal.signal(15, signal.SIG_IGN); time.sleep(99)",
        "ok",
    ),
    "a fork bomb": ("while True: quietly(os.fork)", TIME),
    "a comet": ("while True:\n  if quietly(os.fork): os._exit(0)", "exit status 0|hung up|" + TIME),
    "a twin answers on": ("if os.fork(): os._exit(3)", "ok|exit status 3|hung up"),
    "threads": ("for _ in range(999): threading.Thread(target=forever, daemon=True).start()", TIME + "|thread|Memory"),
    "a thread that never ends": ("threading.Thread(target=time.sleep, args=(99,)).start()", "ok"),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", TIME),
    "stops its group": ("libc.kill(0, signal.SIGSTOP)", TIME),
    "ignores every signal": ("[quietly(signal.signal, n, signal.SIG_IGN) for n in range(1, 65)]; forever()", TIME),
    "illegal instruction": ("signal.raise_signal(signal.SIGILL)", "SIGILL"),
    "processor time": ("signal.raise_signal(signal.SIGXCPU)", "limit on processor time"),
    "another program": ("os.execv('/bin/sleep', ['sleep', '99'])", f"hung up|refused|Error|{TIME}"),
    "a program beside": ("subprocess.Popen(['/bin/sleep', '99'])", "ok|Error"),
    "the end, with a handler": ("import atexit; atexit.register(forever); sys.exit(0)", r"called sys\.exit"),
    "signals the judge": ("assert libc.kill(judge, 0) == -1 and libc.kill(judge, 0) == -1", "ok"),
    "traces the judge": ("assert libc.ptrace(16, judge, 0, 0) == -1", "ok"),
    "reads the judge": ("assert not quietly(lambda: open(f'/proc/{judge}/mem', 'rb').read(0) == b'') is True", "ok"),
    "its environment": ("assert not any('SECRET' in name + os.environ[name] for name in os.environ)", "ok"),
    "descriptors": (
        "assert not any(stat.S_ISREG(os.fstat(fd).st_mode) for fd in map(int, os.listdir('/proc/self/fd')) "
        "if quietly(os.fstat, fd) != 'OSError')",
        "ok|Error",
    ),
    "one wire alone": ("assert len(list(wires())) == 1", "ok"),
    "a marker": ("open(place + '/marker', 'w')", "PermissionError|FileNotFoundError"),
    "a marker by a link": ("os.symlink(place, 'link'); open('link/marker', 'w')", "PermissionError|FileNotFoundError"),
    "a folder": ("os.makedirs(place + '/marker')", "PermissionError"),
    "its own file goes": ("os.remove(__file__)", "PermissionError|FileNotFoundError"),
    "its folder is shut": ("os.chmod(place, 0)", "PermissionError|FileNotFoundError"),
    "its folder moves": ("os.rename(place, place + '2')", "PermissionError|FileNotFoundError"),
    "the kit is imported": ("import harness", "ModuleNotFoundError"),
    "the solutions are imported": ("import solutions.causal_mask", "ModuleNotFoundError"),
    "the kit is read": (f"open({str(ROOT / 'solutions' / 'causal_mask.py')!r})", "PermissionError|FileNotFoundError"),
    "the kit is listed": (f"os.listdir({str(ROOT / 'harness')!r})", "PermissionError|FileNotFoundError"),
    "100 MB of prints": ("print('y' * 100_000_000)", "ok"),
    "100 MB of errors": ("for _ in range(100): os.write(2, bytes(1_000_000))", "ok"),
    "prints for ever": ("while True: print('y' * 10_000)", TIME),
    "no place to print": ("os.close(1); os.close(2); quietly(print, 'y')", "ok"),
    "asks": ("input()", "EOFError"),
    "a breakpoint": ("breakpoint()", "no terminal here"),
    "an array too large": ("np.ones(1 << 34)", "MemoryError"),
    "memory, bit by bit": ("held = []\nwhile True: held.append(bytearray(1 << 28))", f"MemoryError|SIGKILL|{TIME}"),
    "a long loop in C": ("np.broadcast_to(np.ones(1), (1 << 38,)).sum()", TIME),
    "a large file": ("with open('x', 'wb') as file:\n  while True: file.write(bytes(1 << 20))", "OSError"),
    "litter": ("os.mkdir('d'); [open(b'd/\\xff%d' % n, 'w').close() for n in range(500)]; os.chmod('d', 0)", "ok"),
    "more of everything": ("resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))", "ValueError|OSError"),
    "no more of anything": ("[resource.setrlimit(n, (0, 0)) for n in (1, 6, 7)]", "ok"),
    "the super-user": ("os.getuid() and os.setuid(0)", "ok|PermissionError"),
    "other namespaces": ("assert libc.unshare(0x10000000) == -1 and libc.setns(0, 0) == -1", "ok"),
    "a mount": ("assert libc.mount(b'none', b'/', b'tmpfs', 0, None) == -1", "ok"),
    "the network": ("socket.create_connection(('127.0.0.1', 9), 1)", "PermissionError"),
    "a socket": ("assert libc.socket(2, 1, 0) == -1 and libc.socket(1, 1, 0) == -1", "ok"),
    "rubbish": ("send(b'rubbish' * 99)", RUBBISH),
    "a frame without end": ("send(frame({}, size=1 << 60))", RUBBISH),
    "half a frame": ("send(frame({}, size=999))", TIME),
    "a flood": ("fd = next(wires())\nwhile True: os.write(fd, bytes(1 << 20))", RUBBISH + "|" + TIME),
    "hangs up": ("[os.close(fd) for fd in wires()]; forever()", "hung up"),
    "no dict": ("send(frame([1, 2]))", RUBBISH),
    "a deep value": ("send(frame(b'[' * 100_000 + b']' * 100_000))", RUBBISH),
    "a head too large": ("send(frame(b'[' + b'0,' * (10 << 20) + b'0]'))", f"{RUBBISH}|{TIME}"),
    "the same again": (
        "first = {'array': ['<f8', [1 << 20], None, 0, 8 << 20, True]}\n"
        "send(frame(answer([first] + [{'again': 0}] * 9999), bytes(8 << 20)))",
        f"{RUBBISH}|{TIME}",
    ),
    "objects": ("send(frame(answer({'array': ['|O', [1], None, 0, 8, True]}), bytes(8)))", RUBBISH),
    "memory of the judge's": ("send(frame(answer({'array': ['<f8', [9], [-8], 0, 72, True]}), bytes(72)))", RUBBISH),
    "a negative shape": ("send(frame(answer({'array': ['<f8', [-9, -9], None, 0, 8, True]}), bytes(8)))", RUBBISH),
    "no exception": ("send(frame(answer(None, raised=[1])))", RUBBISH),
    "endless memory": ("send(frame(answer(None, peak_bytes='x')))", RUBBISH),
}


AT_ANY_LEVEL = {"a fork bomb", "a comet", "stops itself", "ignores every signal"}  # of those that last until the limit
CASES = [
    (level, deed)
    for level in LEVELS
    for deed, (_, words) in list(DEEDS.items())[:: 4 if level == "spawn" else 1]  # the cage of `fork`, reached slower
    if level == "fork" or deed in AT_ANY_LEVEL or TIME not in words
]


@pytest.fixture(scope="module")
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    temporary, before = tmp_path_factory.mktemp("tmp"), set(descendants(os.getpid()))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**LEVELS[request.param], "MY_SECRET": "SECRET"}.items():
            patch.setenv(name, value)
        patch.setattr("tempfile.tempdir", str(temporary))
        with (temporary / "inherited").open("w") as held, Judge(LIMITS) as one:
            os.set_inheritable(held.fileno(), True)
            yield one
    assert [path.name for path in temporary.iterdir()] == ["inherited"]
    assert set(descendants(os.getpid())) <= before


def load(judge: Judge, place: Path, body: str) -> Session:
    path = place / "causal_mask.py"
    path.write_text(HEAD + textwrap.indent(body + "\nreturn x\n", "  "), encoding="utf-8")
    wanted = {"f": Signature("f(x, judge, place)", ("x", "judge", "place"), 3)}
    return judge.open(path, path.read_bytes(), "causal_mask", wanted).loaded()


def ask(session: Session, place: Path) -> Answer:
    return next(iter(session.ask([Call("f", (7, os.getpid(), str(place)), ("x", "judge", "place"))])))


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="the deeds are Linux's")
@pytest.mark.parametrize(("judge", "deed"), CASES, indirect=["judge"])
def test_a_hostile_call_costs_its_own_verdict_alone(judge: Judge, tmp_path: Path, deed: str) -> None:
    body, words = DEEDS[deed]
    session = load(judge, tmp_path, body)
    assert session.broken is None
    start = time.monotonic()
    answer = ask(session, tmp_path)
    said = "ok" if answer.raised is None and answer.value == 7 else answer.raised.text if answer.raised else "wrong"
    session.close()
    assert re.search(words, said), said
    assert time.monotonic() - start < 10  # the limit, and no hang beyond it even on a machine that is busy
    assert [path.name for path in tmp_path.iterdir()] == ["causal_mask.py"]
    fine = load(judge, tmp_path, "pass")
    assert ask(fine, tmp_path).value == 7
    fine.close()


SAID: dict[str, tuple[str, Any]] = {
    "nan": ("send(frame(answer(7, seconds=float('nan'), peak_bytes=float('inf'))))", 7),
    "many warnings": ("send(frame(answer(7, warnings=[['W', 'w', 1]] * 9999)))", 7),
}


@pytest.mark.parametrize(("judge", "deed"), [(level, deed) for level in LEVELS for deed in SAID], indirect=["judge"])
def test_what_is_forged_is_cut_to_what_may_be(judge: Judge, tmp_path: Path, deed: str) -> None:
    answer = ask(load(judge, tmp_path, SAID[deed][0]), tmp_path)
    assert answer.value == 7
    assert 0 <= answer.seconds < 1e7
    assert 0 <= answer.peak_bytes < 1e16
    assert len(answer.warnings) <= 8


@pytest.mark.parametrize("judge", LEVELS, indirect=True)
def test_the_name_of_a_type_is_safe_to_print(judge: Judge, tmp_path: Path) -> None:
    value = ask(
        load(judge, tmp_path, "return type('\\x1b[2J', (), {'__repr__': lambda s: '\\x1b]0;'})()"), tmp_path
    ).value
    assert (value.type, value.text) == ("?[2J", "?]0;")
