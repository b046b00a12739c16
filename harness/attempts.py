"""Earlier attempts at a kata, kept out of sight, and the file in katas/ replaced by a stub or by one of them.

Nothing that a person wrote is ever lost: what stands in katas/ is kept before anything takes its place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from harness import outline
from harness.history import home
from harness.source import Unreadable, read


def folder(name: str) -> Path:
    """Where the attempts at a kata are kept, as 1.py, 2.py and so on."""
    return home() / "attempts" / name


def kept(name: str) -> dict[int, Path]:
    """The attempts at a kata by number."""
    with contextlib.suppress(OSError):
        found = [path for path in folder(name).glob("*.py") if path.stem.isdecimal()]
        return {int(path.stem): path for path in sorted(found, key=lambda path: int(path.stem))}
    return {}


def keep(name: str, source: bytes) -> int | None:
    """Keep a source as an attempt; its number, or None for an untouched stub. OSError when it cannot be kept."""
    return None if outline.untouched(name, source) else _store(name, source)


def _store(name: str, source: bytes) -> int:
    earlier = kept(name)
    for number, path in earlier.items():
        with contextlib.suppress(Unreadable):
            if read(path) == source:
                return number
    folder(name).mkdir(parents=True, exist_ok=True)
    number = max(earlier, default=0) + 1
    while not _create(folder(name) / f"{number}.py", source):
        number += 1
    return number


def put(name: str, source: bytes) -> int | None:
    """Put a source into katas/, after keeping what stands there; the number of what was kept.

    Unreadable or OSError when it cannot be done: then nothing has changed.
    """
    path = (outline.KATAS / f"{name}.py").resolve()
    there = read(path) if path.exists() else b""
    clean = there.replace(b"\r\n", b"\n") in (b"", outline.stub(name).encode())  # notes in a stub are worth keeping
    number = None if clean else _store(name, there)
    write(path, source)
    return number


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        else:
            os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _create(path: Path, data: bytes) -> bool:
    """Make a new file; False when another command has just made it."""
    try:
        with open(path, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return True
