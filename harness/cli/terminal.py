"""Typed lines, with a clock before them: live on a terminal, said once a line elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from types import FrameType

from harness.answers import clean

try:
    import readline  # what is being typed must be known to leave it alone
except ImportError:
    readline = None  # type: ignore[assignment]

SECOND = 1.0


def live() -> bool:
    """Whether a clock can tick beside what is being typed."""
    here = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return here and readline is not None and hasattr(signal, "setitimer")


def line(prompt: Callable[[], str], tick: Callable[[], None] | None = None) -> str | None:
    """One line from the person, None at the end of the input. `tick` is called every second where that is possible.

    What `tick` raises ends the waiting, and is raised here.
    """
    if not sys.stdin.isatty():
        typed = sys.stdin.readline()
        print(f"{prompt()}{clean(typed.strip())}")
        return clean(typed.strip()) if typed else None
    if tick is None or not live():
        return _input(prompt())

    def alarm(_number: int, _frame: FrameType | None) -> None:
        tick()
        _redraw(prompt())
        signal.setitimer(signal.ITIMER_REAL, SECOND)  # only now, so that slow ticks do not pile up

    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, SECOND)
    try:
        return _input(prompt())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def say(words: str) -> None:
    """Print a notice, also while something is being typed: what was typed so far follows it again."""
    sys.stdout.write(f"\r\x1b[K{words}\n" if live() else f"{words}\n")
    sys.stdout.flush()


def again(prompt: str) -> None:
    """Show the prompt and what has been typed after it once more, below a notice."""
    if live():
        sys.stdout.write(prompt + readline.get_line_buffer())
        sys.stdout.flush()


def _input(prompt: str) -> str | None:
    try:
        return clean(input(prompt).strip())
    except (EOFError, KeyboardInterrupt):  # Ctrl-D and Ctrl-C leave, as a closed terminal does
        print()
        return None


def _redraw(prompt: str) -> None:
    """Put the new time over the old one. A line so long that it wraps is left alone: the prompt is a row further up."""
    if len(prompt) + len(readline.get_line_buffer()) < shutil.get_terminal_size().columns:
        sys.stdout.write(f"\x1b7\r{prompt}\x1b8")
        sys.stdout.flush()
