"""An interview on a real terminal: the clock ticks beside what is being typed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.tests.project import Project

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")


class Screen:
    """A command on a pseudo-terminal, and what it has written."""

    def __init__(self, project: Project, *words: str) -> None:
        self._master, slave = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "30"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", *words],
            cwd=project.folder,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def until(self, words: str, seconds: float = 30) -> str:
        """What was written up to these words, and them; AssertionError when they do not come."""
        deadline = time.monotonic() + seconds
        while words not in self.text and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self._master, 4096).decode()
                except OSError:  # the other side is closed
                    break
        assert words in self.text, self.text
        before, _, self.text = self.text.partition(words)
        return before + words

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()


def test_the_clock_ticks_and_what_is_typed_stays(project: Project, screens: list[Screen]) -> None:
    screens.append(Screen(project, "mock", "causal_mask"))
    [screen] = screens
    screen.until("[5:00] > ")
    screen.type("what does Tr")
    ticked = screen.until("\x1b7\r[4:5")
    assert "what does Tr" in ticked
    screen.type("ue mean?\n")
    screen.until("Blocked: the entry is True")
    screen.until("] > ")
    screen.type("\x04")  # Ctrl-D leaves
    screen.until("`kata mock resume` goes")
    assert screen.process.wait(20) == 0


def test_a_killed_terminal_is_resumed_and_the_end_interrupts_the_typing(
    project: Project, screens: list[Screen]
) -> None:
    screens.append(Screen(project, "mock", "causal_mask", "--minutes", "0.12"))
    screens[0].until("[0:0")
    screens[0].type("assume a position sees itself\n")
    screens[0].until("Noted.")
    os.kill(screens[0].process.pid, signal.SIGKILL)
    screens.append(Screen(project, "mock", "resume"))
    screens[1].until("1 assumed")
    screens[1].until("] > ")
    screens[1].type("half a li")
    screens[1].until("The time is up.")
    screens[1].until("clarified 1 of")
    screens[1].until("your answer > ")
