"""How workers end: killed with all that they started, and how it was, and nothing left on the disk."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
from collections.abc import Iterator

KILLED = 256  # in the place of an exit status: the worker had to be killed


class Kept:
    """A worker's keeper, as its parent sees it."""

    def __init__(self, pid: int, told: int, folder: str) -> None:
        self.pid, self.told, self._folder = pid, told, folder

    def end(self, grace: float) -> int:
        """End the worker with all that it started; how it ended within the grace (minus a signal), or KILLED."""
        ready, _, _ = select.select([self.told], [], [], grace)
        data = os.read(self.told, 8) if ready else b""
        os.close(self.told)
        if not self._folder or not self._asked():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        remove(self._folder)
        return int(struct.unpack("<q", data)[0]) if len(data) == 8 else KILLED

    def _asked(self) -> bool:
        """Without namespaces, the keeper has to find and kill what the worker started. Whether it came to an end."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return True
            time.sleep(0.0005)
        return False


def end_children(group: int) -> None:
    """Kill a process group, and whatever else descends from this process, until nothing does."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        if group:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in _children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.0005)


def _children() -> Iterator[int]:
    for name in os.listdir("/proc") if os.path.exists("/proc/self") else ():
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rsplit(b")", 1)[1].split()[1])
            if name.isdigit() and parent == os.getpid():
                yield int(name)


def remove(folder: str) -> None:
    """Remove a folder, also one in which permissions were taken away. Links are not followed."""
    if not folder:
        return
    import shutil  # once a run, and so not at the start of every one

    for place, folders, _ in os.walk(folder):
        for path in (os.path.join(place, name) for name in folders):
            with contextlib.suppress(OSError):
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
