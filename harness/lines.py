"""Which lines of a checks file run: a proof that no line of it is there for nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class Ran:
    """The lines of one file's functions that ran while it was watched."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._lines: set[int] = set()
        self._all = set(_of_functions(compile(path.read_text(encoding="utf-8"), self._path, "exec"), inside=False))

    @contextlib.contextmanager
    def watched(self, really: bool = True) -> Iterator[None]:
        """Watch what runs in this block."""
        before = sys.gettrace()
        sys.settrace(self._enter if really else before)
        try:
            yield
        finally:
            sys.settrace(before)

    def missing(self) -> list[int]:
        """The lines that never ran."""
        return sorted(self._all - self._lines)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._step if frame.f_code.co_filename == self._path else None

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._lines.add(frame.f_lineno)
        return self._step


def _of_functions(code: CodeType, inside: bool) -> Iterator[int]:
    """The numbers of the lines that hold code of functions; the module's own run at the import."""
    if inside:
        yield from (line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _of_functions(const, inside=True)
