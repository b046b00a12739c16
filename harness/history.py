"""The record of everything done: one JSON object a line, appended and never rewritten. Standard library alone.

Every event has `v` (the version, 1), `at` (UTC), `event` (what happened) and its own facts. A line that is torn or
strange is left where it is and passed over. What cannot be written is kept in `unsaved`, and `problem` says why.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import outline
from harness.clock import Clock, system

try:
    import fcntl
except ImportError:  # Windows: two commands at once are kept apart by appending alone
    fcntl = None  # type: ignore[assignment]

Event = dict[str, Any]
VERSION = 1


def home() -> Path:
    """Where the kit keeps what it must remember: KATA_HOME, or .kata in the project folder."""
    return Path(os.environ.get("KATA_HOME") or outline.ROOT / ".kata").absolute()


class History:
    """The events so far, and the way to add one."""

    def __init__(self, clock: Clock = system) -> None:
        self.clock, self.folder = clock, home()
        self.path = self.folder / "history.jsonl"
        self.problem = ""
        self.damaged: tuple[int, ...] = ()
        self.unsaved: list[Event] = []
        self._seen: tuple[int, int] | None = None
        self._events: list[Event] = []
        self._locked = False

    def events(self, *kinds: str) -> list[Event]:
        """Every event in order, or those of some kinds; read again when the file has grown."""
        seen = self._stat()
        if seen != self._seen:
            self._seen, (self._events, self.damaged) = seen, self._read()
        return [e for e in (*self._events, *self.unsaved) if not kinds or e["event"] in kinds]

    def append(self, event: str, **facts: Any) -> Event:
        """Add an event. It is on the disk when this returns, or `problem` says why not."""
        at = datetime.fromtimestamp(self.clock().wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        whole = {"v": VERSION, "at": at, "event": event, **facts}
        self.unsaved.append(whole)
        try:
            with self.locked():
                self.folder.mkdir(parents=True, exist_ok=True)
                while self.unsaved:  # what could not be written before goes first
                    self._write(json.dumps(self.unsaved[0], ensure_ascii=True).encode() + b"\n")
                    del self.unsaved[0]
        except OSError as error:
            self.problem = self._why(error)
        return whole

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from writing meanwhile, where the system can."""
        if self._locked or fcntl is None:
            yield
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = os.fdopen(os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644), "rb+")
        except OSError:
            yield  # what cannot be locked cannot be written either, and that will be said
            return
        with lock:
            with contextlib.suppress(OSError):  # some network folders know no locks: appending alone must do
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def _write(self, line: bytes) -> None:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            size = os.lseek(file, 0, os.SEEK_END)
            if size and os.lseek(file, size - 1, os.SEEK_SET) >= 0 and os.read(file, 1) != b"\n":
                line = b"\n" + line  # the last command was killed while it wrote
            try:
                if os.write(file, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(file, size)
                raise
        finally:
            os.close(file)

    def _why(self, error: OSError) -> str:
        if self.folder.exists() and not self.folder.is_dir():
            return f"{self.folder} is no folder"
        return f"{self.path}: {error.strerror or error}"

    def _stat(self) -> tuple[int, int] | None:
        try:
            about = os.stat(self.path)
        except OSError:
            return None
        return about.st_mtime_ns, about.st_size

    def _read(self) -> tuple[list[Event], tuple[int, ...]]:
        try:
            if self.path.exists() and not self.path.is_file():
                raise OSError(errno.EINVAL, "not a regular file")
            lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        except OSError as error:
            self.problem = self._why(error)
            return [], ()
        events, damaged = [], []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            event = _event(line)
            if event is None:
                damaged.append(number)
            else:
                events.append(event)
        return events, tuple(damaged)


def _event(line: bytes) -> Event | None:
    """An event of a line; None when it is no event of a version that we know."""
    try:
        event = json.loads(line)
        year = datetime.fromisoformat(event["at"]).astimezone().year
        known = event["v"] == VERSION and isinstance(event["event"], str) and 2000 <= year < 3000
        return event if known else None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, OSError):
        return None
