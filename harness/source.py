"""Reading a submission's file: bytes, or the reason why it cannot be graded. Standard library alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_SOURCE = 1 << 20


class Unreadable(Exception):
    """A file that cannot be graded; the text says why."""


def read(path: Path) -> bytes:
    """The bytes of a submission; Unreadable when it is missing, no regular file, or too large."""
    try:
        about = os.stat(path)
        if stat.S_ISDIR(about.st_mode):
            raise Unreadable("is a directory, not a file")
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("is not a regular file")
        if about.st_size > MAX_SOURCE:
            raise Unreadable(f"is too large: {about.st_size >> 20} MiB, the limit is {MAX_SOURCE >> 20} MiB")
        return path.read_bytes()
    except FileNotFoundError:
        raise Unreadable("no such file") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
