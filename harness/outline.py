"""What can be told of the katas without running or importing any of their files: names, checks, functions, stubs.

`pytest katas/` on untouched stubs needs no more than this, so it loads no NumPy and starts no process. The outline of a
checks file is read from its text; a test proves that it says what the loaded file says.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from harness import stubs

ROOT = Path(__file__).resolve().parents[1]
KATAS, SOLUTIONS, CHECKS = ROOT / "katas", ROOT / "solutions", ROOT / "harness" / "checks"
DECLARED = re.compile(r"^KATA = Kata\(\s*track=(\d+),\s*minutes=(\d+),\s*functions=\(([^)]*)\)", re.MULTILINE)
CHECK = re.compile(r'^@KATA\.(core|follow_up)\ndef (\w+)\([^)]*\)[^:]*:\n    """(.*?)"""', re.MULTILINE | re.DOTALL)


class CheckOutline(NamedTuple):
    """A check as its file's text shows it."""

    name: str
    title: str
    level: str


class Outline(NamedTuple):
    """A kata as its checks file's text shows it."""

    track: int
    minutes: int
    functions: tuple[str, ...]
    checks: tuple[CheckOutline, ...]


def is_kata(name: str) -> bool:
    """Whether there is a kata of that name."""
    return name.isidentifier() and name != "__init__" and (CHECKS / f"{name}.py").exists()


@cache
def names() -> tuple[str, ...]:
    """Every kata, in the order of practice: by track, then by minutes."""
    found = [path.stem for path in CHECKS.glob("*.py") if path.stem != "__init__"]
    return tuple(sorted(found, key=lambda name: (outline(name).track, outline(name).minutes, name)))


@cache
def outline(name: str) -> Outline:
    """A kata's outline; ValueError when its checks file does not begin as it should."""
    text = (CHECKS / f"{name}.py").read_text(encoding="utf-8")
    declared = DECLARED.search(text)
    if declared is None:
        raise ValueError(f"harness/checks/{name}.py has no line KATA = Kata(track=..., minutes=..., functions=(...))")
    checks = tuple(
        CheckOutline(check, " ".join(title.split()), level.replace("_", "-"))
        for level, check, title in CHECK.findall(text)
    )
    functions = tuple(re.findall(r"\w+", declared[3]))
    return Outline(int(declared[1]), int(declared[2]), functions, checks)


@cache
def stub(name: str) -> str:
    """A kata's pristine stub, derived from its solution."""
    solution = (SOLUTIONS / f"{name}.py").read_text(encoding="utf-8")
    return stubs.derive(solution, outline(name).functions)


def untouched(name: str, source: bytes) -> bool:
    """Whether a file is still the kata's stub."""
    return stubs.may_be_stub(source) and stubs.untouched(source, stub(name))
