"""Finds submissions: which files there are, what kata each answers, and who wrote it. Standard library alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness import outline, stubs
from harness.source import Unreadable, read

UNTOLD = "neither the file's name nor its functions tell which kata it is: use --kata NAME"
PARTS = " _-.()[]"
WORTH = 4  # submissions for a process
LEFT_OUT = {"__pycache__", "node_modules", "venv", "site-packages"}
NOBODY = {"", ".", "..", "katas", "/"}


class Entry(NamedTuple):
    """One submission: `file` as it was given or walked. `why` is set when it cannot be graded at all."""

    file: str
    kata: str
    submitter: str
    why: str = ""


class Found(NamedTuple):
    """The submissions of a run, and what a walk passed over, each with the reason."""

    entries: list[Entry]
    skipped: list[tuple[str, str]]


def collect(paths: Iterable[str], name: str | None = None) -> Found:
    """Every path gives one submission or more; a folder is walked. `name` is the kata, when the person says it."""
    found = Found([], [])
    for path in paths:
        before = len(found.entries)
        if os.path.isdir(path):
            for file in _walk(path, found.skipped):
                _meet(file, name, found)
            if len(found.entries) == before:
                found.entries.append(Entry(path, name or "", "", "is a directory without a submission"))
        else:
            found.entries.append(_named(path, name))
    return found


def _walk(folder: str, skipped: list[tuple[str, str]]) -> Iterator[str]:
    """The files below a folder, in the order of their names; links to folders are not followed."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        skipped.append((folder, f"cannot be read: {error.strerror}"))
        return
    for entry in entries:
        path = os.path.join(folder, entry.name)
        if entry.name.startswith("."):
            skipped.append((path, "is hidden"))
        elif entry.name in LEFT_OUT:
            skipped.append((path, "is no place for submissions"))
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(path, skipped)
        elif entry.is_dir():
            skipped.append((path, "is a link to a folder: not followed"))
        else:
            yield path


def _meet(file: str, name: str | None, found: Found) -> None:
    """A file on a walk is a submission or is passed over."""
    stem, told = Path(file).stem, by_name(file)
    if Path(file).suffix.lower() != ".py":
        found.skipped.append((file, "is not a Python file"))
    elif stem.startswith("test_") or stem in ("conftest", "__init__"):
        found.skipped.append((file, "is a test, or makes a package: no submission"))
    elif name and told not in (None, name):
        found.skipped.append((file, f"is {told} by its name, not {name}"))
    elif name or told:
        found.entries.append(_entry(file, name or told or ""))
    else:
        _by_content(file, found)


def _by_content(file: str, found: Found) -> None:
    try:
        kata = _by_functions(_source(file))
    except Unreadable as why:
        found.skipped.append((file, str(why)))
        return
    if kata:
        found.entries.append(_entry(file, kata))
    else:
        found.skipped.append((file, "neither its name nor its functions tell of a kata"))


def kata_of(path: Path) -> str | None:
    """The kata that a file's name tells, or what it defines."""
    entry = _named(str(path), None)
    return entry.kata or None


def _named(file: str, name: str | None) -> Entry:
    """A file that was named on the command line: always a submission."""
    kata = name or by_name(file)
    try:
        source = _source(file)
    except Unreadable as why:
        return Entry(file, kata or "", _submitter(file, kata or ""), str(why))
    kata = kata or _by_functions(source)
    return _entry(file, kata) if kata else Entry(file, "", _submitter(file, ""), UNTOLD)


def _entry(file: str, kata: str) -> Entry:
    return Entry(file, kata, _submitter(file, kata))


def _source(file: str) -> bytes:
    try:
        return read(Path(file))
    except ValueError as error:  # a null byte in the name
        raise Unreadable(f"cannot be read: {error}") from None


def by_name(file: str) -> str | None:
    """The kata whose name ends the file's: `causal_mask.py`, `team3_causal_mask.py`."""
    stem = Path(file).stem
    named = [name for name in outline.names() if re.search(rf"(^|[{re.escape(PARTS)}]){name}$", stem)]
    return max(named, key=len, default=None)


def _by_functions(source: bytes) -> str | None:
    """The kata of which the text defines most functions."""
    counts = {
        name: sum(stubs.defined_at(source, function) is not None for function in outline.outline(name).functions)
        for name in outline.names()
    }
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def _submitter(file: str, kata: str) -> str:
    """Who wrote it: what the file's name says beside the kata's, or else the folder that holds it."""
    rest = Path(file).stem
    if kata and kata in rest:
        before, _, after = rest.rpartition(kata)
        rest = f"{before.strip(PARTS)} {after.strip(PARTS)}".strip()
    if rest:
        return rest
    folders = [part for part in Path(file).parts[:-1] if part not in NOBODY]
    return folders[-1] if folders else ""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_for(entries: Sequence[Entry], most: int) -> int:
    """In how many processes to grade: 0 when there is nothing to run, and each must be worth its start."""
    ready = sum(not entry.why for entry in entries)
    return min(most, -(-ready // WORTH))
