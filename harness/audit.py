"""A hook of Python's own on top of the cage: it says no where the machine has no wall. ctypes gets past it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

KIT = {"harness", "solutions"}
CHANGES = {
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "os.removexattr", "shutil.rmtree", "shutil.move", "shutil.copyfile",
}  # fmt: skip
SIGNALS = {"os.kill", "os.killpg"}
READS = {"os.listdir", "os.scandir", "os.chdir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def guard(hidden: Sequence[str], scratch: str, alone: bool) -> None:
    """From here on: no import of the kit, no look into `hidden`, no change outside `scratch`, no network.

    The paths are real ones. No signals either, unless the worker is alone: sees no process but its own.
    """
    guarded = _Guard(hidden, scratch, alone)
    sys.addaudithook(guarded.hear)


class _Guard:
    """Holds its own copies of what it needs: the person's code may patch the modules."""

    def __init__(self, hidden: Sequence[str], scratch: str, alone: bool) -> None:
        self._hidden, self._scratch, self._alone = hidden, scratch, alone
        self._real, self._own = os.path.realpath, (0, os.getpid())

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Called by Python before what it is about to do; an exception here refuses it."""
        if event == "import":
            if str(args[0]).partition(".")[0] in KIT:
                raise ModuleNotFoundError(f"No module named {args[0]!r}")
        elif event == "open":
            self._opened(args[0], args[2] if type(args[2]) is int else 0)
        elif event in CHANGES:
            for path in args:
                if type(path) in (str, bytes) and not self._within(path, [self._scratch]):
                    raise PermissionError(f"{event} outside the working folder is refused here")
        elif event in SIGNALS and not self._alone and abs(args[0]) not in self._own:
            raise PermissionError("a signal to another process is refused here")
        elif event in READS and args and type(args[0]) in (str, bytes) and self._within(args[0], self._hidden):
            raise PermissionError("the kit's files cannot be read here")
        elif event in ("socket.connect", "socket.bind", "socket.sendto"):
            raise PermissionError("there is no network here")

    def _opened(self, path: Any, flags: int) -> None:
        if type(path) not in (str, bytes):
            return
        if self._within(path, self._hidden):
            raise PermissionError("the kit's files cannot be read here")
        if flags & WRITING and not self._within(path, [self._scratch, "/dev"]):
            raise PermissionError("a write outside the working folder is refused here")

    def _within(self, path: str | bytes, folders: Sequence[str]) -> bool:
        place = os.fsdecode(self._real(path))
        return any(place == folder or place.startswith(folder + os.sep) for folder in folders)
