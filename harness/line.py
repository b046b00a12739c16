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
        if prints is not None:
            self._poll = select.poll()
            self._poll.register(sock, select.POLLIN)
            self._poll.register(prints, select.POLLIN)

    def send(self, value: Any) -> None:
        """Send one value; that the other side is dead is found out by reading."""
        self.send_packed(wire.pack(value))

    def send_packed(self, data: bytes, seconds: float | None = None) -> None:
        """Send the bytes of a value, within a time: a worker that stopped itself takes nothing."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(seconds or PATIENCE)
            self._socket.sendall(struct.pack("<Q", len(data)) + data)

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
        """What the worker printed since the last time."""
        return self._printed.take() if self._printed else ""

    def _take(self, size: int, end: float | None) -> bytearray:
        while len(self._early) < size:
            self._early += self._receive(end)
        taken, self._early = self._early[:size], self._early[size:]
        return taken

    def _receive(self, end: float | None) -> bytes:
        try:
            self._wait(end)
            block = self._socket.recv(1 << 20)
        except TimeoutError:
            raise Gone("deadline") from None
        except OSError:
            raise Gone("end") from None
        if not block:
            raise Gone("end")
        return block

    def _wait(self, end: float | None) -> None:
        """Until there is something to read; meanwhile the worker must be able to print. TimeoutError after `end`."""
        while self._printed and self._printed.open:
            seconds = None if end is None else end - time.monotonic()
            if seconds is not None and seconds <= 0:
                raise TimeoutError
            ready = self._poll.poll(None if seconds is None else seconds * 1000)
            if any(fd == self._socket.fileno() for fd, _ in ready):
                break
            if ready:
                self._printed.drain()
        self._socket.settimeout(None if end is None else max(0.001, end - time.monotonic()))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
        if self._printed:
            self._printed.close()
