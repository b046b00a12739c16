"""`kata watch`: checks again on each save, and goes on to the next kata after a pass."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from harness import outline, stubs
from harness.cli.checking import place, told
from harness.cli.common import Commands, command, pick, practising
from harness.model import Report
from harness.practice import Practice, kata_file
from harness.schedule import PASSES

POLL = 0.05  # seconds


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "watch",
        _watch,
        "check on each save; after a pass, go on to the next kata",
        ["kata watch                     the suggested kata, then the next", "kata watch causal_mask"],
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="where to begin (default: what kata suggests)")


def _watch(options: argparse.Namespace) -> int:
    with practising(options) as practice:
        try:
            above, name = "", pick(options.name) if options.name else practice.to_write(practice.states())
            while name:
                above, name = _until_it_passes(practice, name, above)
            _show(above, "Nothing is left to write for today. What is due when: kata", "")
        except KeyboardInterrupt:
            print("\nended; kata shows where you are")
    return 0


def _until_it_passes(practice: Practice, name: str, above: str) -> tuple[str, str]:
    """Watch one kata until a save makes it pass; what to say of it, and the next one.

    A kata that passes from the start stays, since it is its follow-ups that are worked on.
    """
    passed = True
    for _ in saves(kata_file(name)):
        practice.refuse_in_mock(name)
        graded = practice.check(name, "watch")
        passes = graded.verdict in PASSES
        if passes and not passed:
            return told(graded), practice.to_write(practice.states(), besides=name)
        moment = datetime.fromtimestamp(practice.history.clock().wall)
        unsaved = f"\nnot saved: {practice.history.problem}" if practice.history.problem else ""
        _show(above, _screen(name, graded), f"{place(name)} · checked {moment:%H:%M:%S} · Ctrl-C ends{unsaved}")
        passed, above = passes, ""
    raise AssertionError("the saves never end")


def _screen(name: str, graded: Report) -> str:
    """The verdict; while nothing is written yet the short prompt, since the whole one stands in the file."""
    if any(o.outcome == "not started" for o in graded.outcomes):
        return f"{stubs.prompt(outline.stub(name), short=True)}\n\nNot started: write it in {place(name)}"
    return told(graded)


def _show(above: str, text: str, foot: str) -> None:
    """Print a screen: on a terminal alone, and cut to fit it; elsewhere below what was printed before."""
    body = "\n\n".join(part for part in (above, text) if part)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        print(f"{body}\n\n{foot}\n" if foot else body, flush=True)
        return
    if os.name == "nt":
        os.system("cls")
    else:
        print("\x1b[H\x1b[2J\x1b[3J", end="")
    columns, height = shutil.get_terminal_size()
    left, lines = (
        height - 3 - _rows(foot, columns),
        [row for line in body.split("\n") for row in _folded(line, columns)],
    )
    shown = []
    for number, line in enumerate(lines):
        left -= _rows(line, columns)
        if left < (number < len(lines) - 1):
            shown.append("[...] more with kata check")
            break
        shown.append(line)
    print("\n".join([*shown, "", foot]), flush=True)


def _folded(line: str, columns: int) -> list[str]:
    """Prose in a narrow window, broken between words; a row of a picture stays as it is."""
    if len(line) <= columns or "  " in line.strip():
        return [line]
    return textwrap.wrap(line, columns, subsequent_indent=" " * (len(line) - len(line.lstrip())))


def _rows(text: str, columns: int) -> int:
    return sum(max(1, -(-len(line) // columns)) for line in text.split("\n"))


def saves(path: Path) -> Iterator[None]:
    """Now, and after each save: once two looks in a row agree, and the file is there."""
    checked = before = _stamp(path)
    yield
    while True:
        time.sleep(POLL)
        now = _stamp(path)
        if now == before and now is not None and now != checked:
            checked = now
            yield
        before = now


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino
