"""Starts worker processes: forked from one warm parent where there is fork, afresh elsewhere. Standard library alone.

Importing this costs nothing, so that the warm parent can load NumPy while pytest itself is still starting.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[1]
KILLED = 256  # in the place of an exit status: the worker had hung up, but had to be killed
LEFT = 70  # exit status of a replay whose debugger was left with `quit`
BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); import harness; from harness import serve; "
    "del sys.path[0]; harness.__path__ = []; sys.dont_write_bytecode = True; serve.main(sys.argv[2:])"
)


def command(*words: str) -> list[str]:
    """The command line of a worker process: isolated, UTF-8, and without the kit on its path."""
    ours = {ROOT, ROOT / "katas", Path.cwd()}
    path = [str(ROOT), *(entry for entry in sys.path if entry and Path(entry).resolve() not in ours)]
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT, json.dumps(path), *words]


def environment() -> dict[str, str]:
    """One BLAS thread a worker: forking and fair timing need it."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads}


class Process(Protocol):
    """A worker: the socket to talk to it, and a way to end it."""

    socket: socket.socket

    def end(self, pid: int) -> int:
        """Kill it with its group; how it ended: an exit status, or minus a signal."""


class Forge:
    """Where workers come from. `live` leaves their prints on the terminal."""

    def __init__(self, live: bool = False) -> None:
        self.live = live
        self.scratch = tempfile.mkdtemp(prefix="kata-")
        self._forked = False
        self._control: socket.socket | None = None
        self._parent: subprocess.Popen[bytes] | None = None
        if _can_fork():
            self._control, theirs = socket.socketpair()
            self._parent = _start(
                ["forge", str(theirs.fileno()), self.scratch],
                live,
                environment(),
                pass_fds=(theirs.fileno(),),
                cwd=self.scratch,
            )
            theirs.close()

    def worker(self) -> Process:
        """A new worker, which has loaded nothing yet."""
        self._forked = True
        return _Forked(self._control) if self._control else _Spawned(self.live)

    def close(self) -> None:
        """End the warm parent, and with it every worker that it forked; remove the scratch folder."""
        if self._parent and self._control:
            if not self._forked:
                self._parent.kill()  # it may still be importing NumPy
            self._control.shutdown(socket.SHUT_WR)
            self._control.settimeout(5)
            with contextlib.suppress(OSError):
                self._control.recv(1)  # ends when the warm parent has ended its workers, and itself
            self._control.close()
            self._parent.kill()
            self._parent.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


def _can_fork() -> bool:
    """macOS has fork, but a library that NumPy uses there, Accelerate, does not survive it."""
    return hasattr(os, "fork") and sys.platform != "darwin" and os.environ.get("KATA_WORKER") != "spawn"


def _start(
    words: list[str], live: bool, env: dict[str, str], pass_fds: tuple[int, ...] = (), cwd: str | None = None
) -> subprocess.Popen[bytes]:
    output = None if live else subprocess.DEVNULL
    return subprocess.Popen(
        command(*words),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=env,
        cwd=cwd,
        pass_fds=pass_fds,
        start_new_session=not pass_fds and os.name == "posix",
    )


class _Forked:
    """A worker forked from the warm parent."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self.socket, theirs = socket.socketpair()
        socket.send_fds(control, [b"F"], [theirs.fileno()])
        theirs.close()

    def end(self, pid: int) -> int:
        self._control.sendall(b"K" + struct.pack("<q", pid))
        (status,) = struct.unpack("<q", self._control.recv(8, socket.MSG_WAITALL))
        return int(status)


class _Spawned:
    """A worker started afresh, reached over loopback: slower, and the only way where there is no fork."""

    def __init__(self, live: bool) -> None:
        token = os.urandom(16).hex()
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(30)
            env = {**environment(), "KATA_TOKEN": token}
            self._process = _start(["connect", str(server.getsockname()[1])], live, env)
            self.socket, _ = server.accept()
        self.socket.settimeout(30)
        if self.socket.recv(len(token), socket.MSG_WAITALL if hasattr(socket, "MSG_WAITALL") else 0) != token.encode():
            raise ConnectionError("something else answered in the worker's place")

    def end(self, pid: int) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(0.2)
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        return KILLED
