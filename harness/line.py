"""The judge's end of the line to a worker: frames with a deadline."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Any

from harness import wire

MAX_FRAME = 1 << 30


class Gone(Exception):
    """The worker gives no answer: `why` is deadline, end or rubbish."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Line:
    """Sends values and reads values. What arrives early is kept for the next read."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._early = bytearray()

    def send(self, value: Any) -> None:
        """Send one value; that the other side is dead is found out by reading."""
        self.send_packed(wire.pack(value))

    def send_packed(self, data: bytes) -> None:
        """Send the bytes of a value."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(10)
            self._socket.sendall(struct.pack("<Q", len(data)) + data)

    def read(self, end: float | None) -> dict[str, Any]:
        """One value, before the moment `end`; Gone, or what `wire` raises for rubbish."""
        (size,) = struct.unpack("<Q", self._take(8, end))
        if size > MAX_FRAME:
            raise Gone("rubbish")
        value: dict[str, Any] = wire.unpack(self._take(size, end))
        return value

    def _take(self, size: int, end: float | None) -> bytearray:
        while len(self._early) < size:
            self._early += self._receive(end)
        taken, self._early = self._early[:size], self._early[size:]
        return taken

    def _receive(self, end: float | None) -> bytes:
        try:
            self._socket.settimeout(None if end is None else max(0.001, end - time.monotonic()))
            block = self._socket.recv(1 << 20)
        except TimeoutError:
            raise Gone("deadline") from None
        except OSError:
            raise Gone("end") from None
        if not block:
            raise Gone("end")
        return block

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
