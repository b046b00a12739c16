"""Starts worker processes: forked from one warm parent where there is fork, afresh elsewhere. Standard library alone.

Importing this costs nothing, so that the warm parent can load NumPy while pytest itself is still starting.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Protocol

from harness.ending import KILLED, remove

ROOT = Path(__file__).resolve().parents[1]
LEFT = 70  # exit status of a replay whose debugger was left with `quit`
BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); import harness; from harness import {0}; "
    "del sys.path[0]; harness.__path__ = []; sys.dont_write_bytecode = True; {0}.main(sys.argv[2:])"
)


def command(*words: str, module: str = "serve") -> list[str]:
    """The command line of a worker process: isolated, UTF-8, without the kit on its path. It runs a module's `main`."""
    ours = {ROOT, ROOT / "katas", Path.cwd()}
    path = [str(ROOT), *(entry for entry in sys.path if entry and Path(entry).resolve() not in ours)]
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT.format(module), json.dumps(path), *words]


THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
NEEDED = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMPDIR",
    "TZ",
    "KATA_WORKER",
    "KATA_WITHOUT",
)


def environment() -> dict[str, str]:
    """The person's own, for a replay. One BLAS thread: forking and fair timing need it."""
    return {**os.environ, **THREADS}


def _clean(**more: str) -> dict[str, str]:
    """What a worker sees: no token and no name of the person's environment."""
    kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", **THREADS, **more}


class Process(Protocol):
    """A worker: the socket to talk to it, what it prints, and a way to end it."""

    socket: socket.socket
    prints: int | None

    def end(self, asked: bool) -> int:
        """Kill it with all that it started; how it ended, if `asked`: an exit status, or minus a signal."""


class Forge:
    """Where workers come from. `live` leaves their prints on the terminal."""

    def __init__(self, live: bool = False) -> None:
        self.live = live
        self._warm = _Warm(live) if _can_fork() else None
        self._spawned: weakref.WeakSet[_Spawned] = weakref.WeakSet()

    def worker(self) -> Process:
        """A new worker, which has loaded nothing yet."""
        if self._warm is None:
            process = _Spawned(self.live)
            self._spawned.add(process)
            return process
        try:
            return self._warm.worker()
        except OSError:  # a worker has killed it: where there are no walls, it can
            self._warm.close()
            self._warm = _Warm(self.live)
            return self._warm.worker()

    def close(self) -> None:
        """End the warm parent, and with it every worker that it forked; end those that were spawned."""
        if self._warm:
            self._warm.close()
        for process in list(self._spawned):
            process.end(asked=False)


def _scratch() -> str:
    """A folder, in which another user can reach the one that is his."""
    folder = tempfile.mkdtemp(prefix="kata-")
    os.chmod(folder, 0o711)
    return folder


def _can_fork() -> bool:
    """macOS has fork, but a library that NumPy uses there, Accelerate, does not survive it."""
    return hasattr(os, "fork") and sys.platform != "darwin" and os.environ.get("KATA_WORKER") != "spawn"


class _Warm:
    """The warm parent, seen from the judge."""

    def __init__(self, live: bool) -> None:
        self._live, self._forked, self._scratch = live, 0, _scratch()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(30)
        self._process = subprocess.Popen(
            command("forge", str(theirs.fileno()), self._scratch),
            stdin=subprocess.DEVNULL,
            stdout=None if live else subprocess.DEVNULL,
            stderr=None if live else subprocess.DEVNULL,
            env=_clean(),
            cwd=self._scratch,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()

    def worker(self) -> Process:
        self._forked += 1
        return _Forked(self._control, self._forked, self._live)

    def close(self) -> None:
        if not self._forked:
            self._process.kill()  # it may still be importing NumPy
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            self._control.settimeout(5)
            while self._control.recv(1 << 10):  # ends when the warm parent has ended its workers, and itself
                pass
        self._control.close()
        self._process.kill()
        self._process.wait()
        remove(self._scratch)


class _Forked:
    """A worker forked from the warm parent, known by its number."""

    def __init__(self, control: socket.socket, number: int, live: bool) -> None:
        self._control, self._number, self.prints = control, number, None
        self.socket, theirs = socket.socketpair()
        given = [theirs.fileno()]
        if not live:
            self.prints, writing = os.pipe()
            given.append(writing)
        try:
            socket.send_fds(control, [b"F"], given)
        finally:
            theirs.close()
            for fd in given[1:]:
                os.close(fd)

    def end(self, asked: bool) -> int:
        try:
            self._control.sendall((b"K" if asked else b"E") + struct.pack("<q", self._number))
            return int(struct.unpack("<q", self._control.recv(8, socket.MSG_WAITALL))[0]) if asked else KILLED
        except (OSError, struct.error):  # the warm parent itself is gone
            return KILLED


class _Spawned:
    """A worker started afresh, reached over loopback: slower, and the only way where there is no fork."""

    def __init__(self, live: bool) -> None:
        self._scratch = _scratch()
        token = os.urandom(16).hex()
        self.prints: int | None = None
        writing: int | None = None
        if not live and os.name == "posix":
            self.prints, writing = os.pipe()
        output = writing if writing is not None else None if live else subprocess.DEVNULL
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(30)
            self._process = subprocess.Popen(
                command("connect", str(server.getsockname()[1]), self._scratch),
                stdin=subprocess.PIPE,  # its end tells that the judge is gone
                stdout=output,
                stderr=output,
                env=_clean(KATA_TOKEN=token),
                cwd=self._scratch,
                start_new_session=os.name == "posix",
            )
            if writing is not None:
                os.close(writing)
            self.socket, _ = server.accept()
        self.socket.settimeout(30)
        if self.socket.recv(len(token), socket.MSG_WAITALL if hasattr(socket, "MSG_WAITALL") else 0) != token.encode():
            raise ConnectionError("something else answered in the worker's place")

    def end(self, asked: bool) -> int:
        status = KILLED
        if self._process.returncode is not None:
            return status
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(0.2 if asked else 0)
        assert self._process.stdin
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        remove(self._scratch)
        return status
