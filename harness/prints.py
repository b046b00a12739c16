"""What the person prints, at both ends: as much of each answer's as a person reads, however much there was."""

from __future__ import annotations

import contextlib
import os
import sys

LIMIT = 64 << 10
AT_ONCE = 8 << 20
CUT = "\n[cut: more was printed]"


class Prints:
    """The worker's end. The judge reads from a pipe; where it cannot, prints are kept in a file of `folder`."""

    def __init__(self, folder: str) -> None:
        self._fd: int | None = None
        if folder:
            self._fd = os.open(os.path.join(folder, ".prints"), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(self._fd, 1)
            os.dup2(self._fd, 2)
        self._at = 0

    def take(self) -> str:
        """Send what is buffered on its way; what was printed since the last time, if it is kept in a file."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # the person may have put anything there
                pass
        if self._fd is None:
            return ""
        size = os.fstat(self._fd).st_size
        if size <= self._at:
            return ""
        os.lseek(self._fd, self._at, os.SEEK_SET)
        text = os.read(self._fd, LIMIT).decode("utf-8", "replace")
        cut = size - self._at > LIMIT
        self._at = size
        os.lseek(self._fd, size, os.SEEK_SET)
        return text + (CUT if cut else "")


class Printed:
    """The judge's end of the pipe."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd, self._kept, self._cut, self._open = fd, bytearray(), False, True

    def drain(self) -> bool:
        """Take what there is, so that the worker can go on; keep the beginning. Whether more may come.

        An endless flood is left waiting.
        """
        for _ in range(AT_ONCE // LIMIT if self._open else 0):
            try:
                block = os.read(self.fd, LIMIT)
            except OSError:  # nothing more for now
                break
            if not block:
                self._open = False
                break
            room = LIMIT - len(self._kept)
            self._kept += block[:room]
            self._cut |= len(block) > room
        return self._open

    def take(self) -> str:
        """What was drained since the last time, cut."""
        if not self._kept:
            return ""
        text = self._kept.decode("utf-8", "replace") + (CUT if self._cut else "")
        self._kept.clear()
        self._cut = False
        return text

    def close(self) -> None:
        """Let go of the pipe."""
        with contextlib.suppress(OSError):
            os.close(self.fd)
        self._open = False
