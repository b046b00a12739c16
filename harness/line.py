"""The judge's end of the line to a worker: frames with a deadline."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from typing import Any

from harness import wire
from harness.prints import Printed

MAX_FRAME, MAX_HEAD = 1 << 29, 16 << 20
PATIENCE = 10.0
BLOCK = 1 << 16


class Gone(Exception):
    """The worker gives no answer: `why` is deadline, end or rubbish."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Line:
    """Sends values and reads values. What arrives early is kept for the next read."""

    def __init__(self, sock: socket.socket, prints: int | None = None) -> None:
        self._socket, self._early = sock, bytearray()
        self._printed = None if prints is None else Printed(prints)
        sock.setblocking(False)
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(sock, select.POLLIN)
            if prints is not None:
                self._poll.register(prints, select.POLLIN)

    def send(self, value: Any) -> None:
        """Send one value; that the other side is dead is found out by reading."""
        self.send_packed(wire.pack(value))

    def send_packed(self, data: bytes, seconds: float | None = None) -> None:
        """Send the bytes of a value, within a time: a worker that stopped itself takes nothing."""
        frame, sent = memoryview(struct.pack("<Q", len(data)) + data), 0
        with contextlib.suppress(OSError):
            with contextlib.suppress(BlockingIOError):
                sent = self._socket.send(frame)
            if sent < len(frame):
                self._socket.settimeout(seconds or PATIENCE)
                self._socket.sendall(frame[sent:])
                self._socket.setblocking(False)

    def read(self, end: float | None) -> dict[str, Any]:
        """One value, before the moment `end`; Gone, or what `wire` raises for rubbish."""
        (size,) = struct.unpack("<Q", self._take(8, end))
        if size > MAX_FRAME:
            raise Gone("rubbish")
        value = wire.unpack(self._take(size, end), most=MAX_HEAD)
        if type(value) is not dict:
            raise Gone("rubbish")
        return value

    def printed(self) -> str:
        """What the worker had printed when it sent what was read last, since the last time."""
        return self._printed.take() if self._printed else ""

    def _take(self, size: int, end: float | None) -> bytearray:
        while len(self._early) < size:
            self._early += self._receive(end)
        taken = self._early[:size]
        del self._early[:size]
        return taken

    def _receive(self, end: float | None) -> bytes:
        try:
            self._wait(end)
            block = self._socket.recv(BLOCK)
        except TimeoutError:
            raise Gone("deadline") from None
        except OSError:
            raise Gone("end") from None
        if not block:
            raise Gone("end")
        if self._printed:
            self._printed.drain()
        return block

    def _wait(self, end: float | None) -> None:
        """Until there is something to read; meanwhile the worker must be able to print. TimeoutError after `end`."""
        while True:
            seconds = None if end is None else max(0.0, end - time.monotonic())
            ready = self._ready(seconds)
            if self._socket.fileno() in ready:
                return
            if not ready and seconds is not None and time.monotonic() >= (end or 0):
                raise TimeoutError
            if ready and self._printed and not self._printed.drain():
                self._poll.unregister(self._printed.fd)

    def _ready(self, seconds: float | None) -> list[int]:
        """The descriptors that have something to read, or nothing ever again."""
        if hasattr(select, "poll"):
            return [fd for fd, _ in self._poll.poll(None if seconds is None else seconds * 1000)]
        return [one.fileno() for one in select.select([self._socket], [], [], seconds)[0]]

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
        if self._printed:
            self._printed.close()
