"""The clock of an interview: it goes on through a crash, a closed terminal and a sleeping laptop."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Instant(NamedTuple):
    """A moment: seconds of the wall clock (UTC), and of a clock that nobody can set, valid within one boot."""

    wall: float
    steady: float
    boot: str


Clock = Callable[[], Instant]


def system() -> Instant:
    """Now. `boot` is empty where no clock is known to count the time asleep: there the wall clock alone tells."""
    if hasattr(time, "CLOCK_BOOTTIME") and _boot():
        return Instant(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), _boot())
    return Instant(time.time(), 0.0, "")


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def gap(before: Instant, after: Instant) -> float:
    """Seconds from one moment to a later one. A wall clock that was set between them counts only across a reboot."""
    if before.boot and before.boot == after.boot:
        return max(0.0, after.steady - before.steady)
    return max(0.0, after.wall - before.wall)
