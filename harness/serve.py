"""The main program of worker processes, and the frames that they and the judge exchange.

`forge` is the warm parent: it has imported NumPy, and forks a worker for each submission. Where there is no fork,
`connect` is one worker that reaches its judge over loopback. `replay` runs one call under pdb in the person's terminal.
"""

from __future__ import annotations

import array
import os
import pdb
import shutil
import signal
import socket
import struct
import sys
import time
import types
from typing import Any, NoReturn

from harness import wire
from harness.forge import KILLED, LEFT
from harness.worker import Prints, Worker

FILE_LIMIT = 64 << 20
GRACE = 0.1


def receive(sock: socket.socket, size: int) -> bytearray:
    """Exactly `size` bytes; EOFError when the other side is gone."""
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = sock.recv_into(view[done:])
        if count == 0:
            raise EOFError
        done += count
    return data


def receive_frame(sock: socket.socket) -> bytearray:
    """One frame: its size, then its bytes."""
    return receive(sock, struct.unpack("<Q", receive(sock, 8))[0])


def send_frame(sock: socket.socket, data: bytes) -> None:
    """The opposite of receive_frame."""
    sock.sendall(struct.pack("<Q", len(data)) + data)


def _no_breakpoint(*_: Any, **__: Any) -> None:
    raise RuntimeError("breakpoint() has no terminal here: use pytest --pdb, or -s with prints")


def serve(sock: socket.socket) -> NoReturn:
    """Be the worker of one submission until the judge hangs up."""
    send_frame(sock, wire.pack({"pid": os.getpid()}))
    _limits()
    orders = wire.unpack(receive_frame(sock))
    os.chdir(orders["folder"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    prints = Prints(orders["live"], orders["folder"])
    sys.breakpointhook = _no_breakpoint
    worker = Worker(orders["path"], bytes(orders["source"].data), orders["name"], prints)
    send_frame(sock, wire.pack(worker.load(orders["wanted"])))
    try:
        while True:
            for request in wire.unpack(receive_frame(sock), worker.find):
                send_frame(sock, worker.answer(request))
    except (EOFError, ConnectionError):
        os._exit(0)


def _limits() -> None:
    """No core dumps, no endless files. The deadlines are the judge's."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))


def forge(control: socket.socket, scratch: str) -> None:
    """The warm parent: `F` and a socket forks a worker, `K` and a pid ends one and tells how it ended.

    When the judge hangs up, or is killed, it ends its workers and removes the scratch folder.
    """
    workers: set[int] = set()
    while True:
        message, fds = _receive_order(control)
        if not message:
            break
        if message[:1] == b"F":
            pid = os.fork()
            if pid == 0:
                control.close()
                os.setsid()
                serve(socket.socket(fileno=fds[0]))
            workers.add(pid)
            os.close(fds[0])
        else:
            (pid,) = struct.unpack("<q", message[1:])
            control.sendall(struct.pack("<q", _end(pid, GRACE) if pid in workers else 0))
            workers.discard(pid)
    for pid in workers:  # all at once, then wait for each
        _kill_group(pid)
    for pid in workers:
        _end(pid, 0.0)
    shutil.rmtree(scratch, ignore_errors=True)


def _receive_order(control: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    try:
        message, ancillary, _, _ = control.recvmsg(9, socket.CMSG_LEN(fds.itemsize))
    except (ConnectionError, KeyboardInterrupt):
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    if message[:1] == b"K" and len(message) < 9:
        message += bytes(receive(control, 9 - len(message)))
    return message, list(fds)


def _end(pid: int, grace: float) -> int:
    """End a worker with its group; how it ended by itself within the grace (minus a signal), or KILLED."""
    end = time.monotonic() + grace
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < end:
        time.sleep(0.001)
        ended, status = os.waitpid(pid, os.WNOHANG)
    _kill_group(pid)
    if not ended:
        os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
        os.waitpid(pid, 0)
        return KILLED
    return os.waitstatus_to_exitcode(status)


def _kill_group(pid: int) -> None:
    """Kill what a worker started, and the worker: it leads its group, which may outlive it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def connect(port: int, token: str) -> NoReturn:
    """Be one worker, over loopback, where there is no fork."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(token.encode())
    serve(sock)


class Debugger(pdb.Pdb):
    """pdb that knows whether it was left with `quit`."""

    left = False

    def do_quit(self, arg: str) -> Any:
        """End the replay, and the pytest run with it."""
        self.left = True
        return super().do_quit(arg)

    do_q = do_exit = do_quit


def replay(path: str, name: str, function: str, frame: str) -> None:
    """Run one call under pdb in this terminal: at the line that raised, or from the first line of the function."""
    with open(path, "rb") as file:
        worker = Worker(path, file.read(), name, Prints(True, ""))
    with open(frame, "rb") as file:
        data = file.read()
    debugger = Debugger()
    try:
        worker.execute()
        if function:
            worker.functions[function](*wire.unpack(bytearray(data)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        debugger.reset()
        debugger.interaction(None, _theirs(error, worker.folder))
    else:
        debugger.runcall(worker.functions[function], *wire.unpack(bytearray(data)))
    sys.exit(LEFT if debugger.left else 0)


def _theirs(error: Exception, folder: str) -> types.TracebackType | None:
    """The traceback from the person's own frames on."""
    trace = error.__traceback__
    while trace and os.path.dirname(trace.tb_frame.f_code.co_filename) != folder and trace.tb_next:
        trace = trace.tb_next
    return trace


def main(argv: list[str]) -> None:
    """Be what the first word says."""
    role, *rest = argv
    if role == "forge":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the judge's to answer
        forge(socket.socket(fileno=int(rest[0])), rest[1])
    elif role == "connect":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        connect(int(rest[0]), os.environ.pop("KATA_TOKEN"))
    else:
        replay(*rest)
