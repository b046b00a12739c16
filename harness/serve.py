"""The main program of worker processes, and the frames that they and the judge exchange.

`forge` is the warm parent: it has imported NumPy, and forks a worker for each submission. Where there is no fork,
`connect` is one worker that reaches its judge over loopback. Every start imports this, so it imports no more than that.
"""

from __future__ import annotations

import array
import functools
import gc
import os
import select
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

from harness import audit, cage, ending, linux, wire
from harness.ending import Kept
from harness.prints import Prints
from harness.walls import HIDDEN
from harness.worker import Worker

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


def serve(sock: socket.socket, words: tuple[str, ...], capture: bool) -> NoReturn:
    """Be the worker of one submission until the judge hangs up. `words` name its level of isolation."""
    send_frame(sock, wire.pack({"isolation": list(words)}))
    orders = wire.unpack(receive_frame(sock))
    cage.limit_time(orders["seconds"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    sys.breakpointhook = _no_breakpoint
    beside = {name: bytes(source.data) for name, source in orders["beside"].items()}
    prints = Prints(os.getcwd() if capture else "")
    worker = Worker(orders["path"], bytes(orders["source"].data), orders["name"], prints, beside)
    audit.guard(HIDDEN, os.getcwd(), alone="namespaces" in words)
    send_frame(sock, wire.pack(worker.load(orders["wanted"])))
    try:
        while True:
            for request in wire.unpack(receive_frame(sock), worker.find):
                send_frame(sock, worker.answer(request))
    except (EOFError, ConnectionError):
        os._exit(0)


def _forget() -> None:
    """Leave nothing of the kit to be imported. A collection in a fork would touch, and so copy, all that is frozen."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()


def forge(control: socket.socket, scratch: str) -> None:
    """The warm parent: `F` and a socket forks a worker, `K` and its number ends it and tells how it ended, `E` ends it.

    When the judge hangs up, or is killed, it ends its workers and removes the scratch folder.
    """
    built = cage.Cage(scratch, HIDDEN)
    _forget()
    workers: dict[int, Kept] = {}
    count = 0
    while True:
        message, fds = _receive_order(control)
        if not message:
            break
        if message[:1] == b"F":
            count += 1
            workers[count] = built.start(functools.partial(_forked, fds, built), fds)
            for fd in fds:
                os.close(fd)
            continue
        kept = workers.pop(struct.unpack("<q", message[1:])[0], None)
        status = kept.end(GRACE if message[:1] == b"K" else 0) if kept else 0
        if message[:1] == b"K":
            control.sendall(struct.pack("<q", status))
    for kept in workers.values():
        kept.end(0)
    built.close()
    ending.remove(scratch)


def _forked(fds: list[int], built: cage.Cage) -> NoReturn:
    if len(fds) > 1:
        os.dup2(fds[1], 1)
        os.dup2(fds[1], 2)
        os.close(fds[1])
    serve(socket.socket(fileno=fds[0]), built.words, False)


def _receive_order(control: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    try:
        message, ancillary, _, _ = control.recvmsg(1, socket.CMSG_LEN(2 * fds.itemsize))
        if message in (b"K", b"E"):
            message += bytes(receive(control, 8))
    except (ConnectionError, EOFError, KeyboardInterrupt):
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


def connect(port: int, token: str, scratch: str) -> None:
    """Be one worker, over loopback, where there is no fork; on Linux the parent of one, in a cage of its own."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(token.encode())
    if not linux.LINUX:
        _forget()
        serve(sock, ("process",), os.name != "posix")
    built = cage.Cage(scratch, HIDDEN)
    _forget()
    kept = built.start(lambda: serve(sock, built.words, False), [sock.fileno()])
    sock.close()
    while kept.told not in select.select([0, kept.told], [], [])[0]:
        if not os.read(0, 1):
            break
    status = kept.end(GRACE)
    built.close()
    ending.remove(scratch)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    os._exit(status & 255)


def main(argv: list[str]) -> None:
    """Be what the first word says."""
    role, *rest = argv
    if role == "forge":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the judge's to answer
        forge(socket.socket(fileno=int(rest[0])), rest[1])
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        connect(int(rest[0]), os.environ.pop("KATA_TOKEN"), rest[1])
