"""The processes that a test has left running, or has not."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """What a process has started and not yet waited for, and what that has."""
    try:
        own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*own, *(further for child in own for further in descendants(child))]


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended may wait for its new parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
