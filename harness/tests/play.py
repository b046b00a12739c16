"""Plays a scripted person at the `kata` command, with a clock that only the script moves."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from harness.tests.project import Project

DRIVER = '''
import contextlib, io, json, os, pathlib, sys, time
from harness.cli import main
from harness.clock import Instant

clock = {"wall": time.time(), "steady": 1000.0, "boot": "one"}


class Lines(io.StringIO):
    """What the person types: a string is a line, a list is something that they do before the next line."""

    def __init__(self, steps):
        self.steps = list(steps)

    def readline(self):
        while self.steps and isinstance(self.steps[0], list):
            do(*self.steps.pop(0))
        return self.steps.pop(0) + "\\n" if self.steps else ""

    def isatty(self):
        return False


def do(what, *rest):
    if what == "wait":
        clock["wall"] += rest[0]
        clock["steady"] += rest[0]
    elif what == "set":  # somebody sets the clock on the wall
        clock["wall"] += rest[0]
    elif what == "reboot":
        clock.update(boot=clock["boot"] + "+", steady=5.0)
    elif what == "write":
        file = max(pathlib.Path("mock").glob("*/" + rest[0]), key=lambda path: path.stat().st_ctime_ns)
        file.write_text(rest[1], encoding="utf-8")
        os.utime(file, (clock["wall"], clock["wall"]))
    elif what == "edit":
        file = max(pathlib.Path("mock").glob("*/" + rest[0]), key=lambda path: path.stat().st_ctime_ns)
        text = file.read_text(encoding="utf-8")
        assert rest[1] in text, (rest[1], text)
        file.write_text(text.replace(rest[1], rest[2]), encoding="utf-8")
        os.utime(file, (clock["wall"], clock["wall"]))


done = []
for words, steps in json.loads(sys.stdin.read()):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
    sys.stdin = Lines(steps)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words, clock=lambda: Instant(**clock))
    while sys.stdin.steps:  # what is left is done before the next command
        step = sys.stdin.steps.pop(0)
        do(*step) if isinstance(step, list) else None
    done.append([status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()])
print(json.dumps(done))
'''


class Said(NamedTuple):
    """What one command gave."""

    status: int
    out: str
    err: str


def play(project: Project, *commands: tuple[str, list[Any]], **env: str) -> list[Said]:
    """Run commands, each with what is typed and done meanwhile; a command is one string, split at spaces."""
    done = project.run("-c", DRIVER, stdin=json.dumps([[words.split(), steps] for words, steps in commands]), **env)
    assert done.returncode == 0, done.stderr
    return [Said(*one) for one in json.loads(done.stdout)]


def debrief(project: Project, *commands: tuple[str, list[Any]]) -> dict[str, Any]:
    """Play, then read the last debrief."""
    last = play(project, *commands, ("debrief --json", []))[-1]
    assert last.status == 0, last.err
    whole: dict[str, Any] = json.loads(last.out)
    return whole
