"""Values to bytes and back, without pickle: a JSON header and raw buffers.

Arrays keep dtype, strides and writability. What is no plain value (a cache object, a generator, a subclass of ndarray)
crosses as an opaque `Handle` and stays where it was made.
"""

from __future__ import annotations

import ctypes
import functools
import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
ALIGN = 16
MAX_ELEMENTS = 1 << 27


class WireError(ValueError):
    """The bytes are not a value that this side sent."""


@dataclass(frozen=True)
class Handle:
    """Something that did not cross: where to find it again, the name of its type, and how it prints."""

    id: int
    type: str
    text: str


@dataclass(frozen=True)
class Carried:
    """Part of the answer to an earlier call that is passed on in a later one, as a cache is.

    The submission gets its own `value` back; whoever is asked to repeat `call` passes on what it gave itself.
    """

    value: Any
    call: Any
    part: int


def pack(value: Any, keep: Callable[[Any], Handle] | None = None) -> bytes:
    """The bytes of a value; `keep` takes in what cannot cross and names it."""
    writer = _Writer(keep)
    head = json.dumps(writer.encode(value)).encode()
    parts = [struct.pack("<Q", len(head)), head]
    size = 8 + len(head)
    for buffer in writer.buffers:
        parts += [b"\0" * (-size % ALIGN), buffer]
        size += -size % ALIGN + len(buffer)
    return b"".join(parts)


def unpack(data: bytes | bytearray, find: Callable[[int], Any] | None = None, most: int | None = None) -> Any:
    """The value of the bytes; WireError when they are rubbish. Arrays are views of `data`. `most` limits the header."""
    try:
        (length,) = struct.unpack_from("<Q", data)
        if most is not None and length > most:  # a small text can describe a large heap of objects
            raise WireError(f"a header of {length} bytes is too large")
        head = json.loads(data[8 : 8 + length])
        return _Reader(data, 8 + length, find).decode(head)
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"not a value: {type(error).__name__}") from None


class _Writer:
    """Turns a value into JSON, and its arrays into buffers, each array once."""

    def __init__(self, keep: Callable[[Any], Handle] | None) -> None:
        self.buffers: list[bytes] = []
        self._keep = keep
        self._seen: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray and value.dtype.kind in "biufc":
            if id(value) in self._seen:
                return {"again": self._seen[id(value)]}
            self._seen[id(value)] = len(self._seen)
            return {"array": self._array(value)}
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if kind is dict:
            if all(type(key) is str for key in value):
                return {"names": {key: self.encode(item) for key, item in value.items()}}
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        return self._other(value)

    def _other(self, value: Any) -> Any:
        if type(value) is Carried:
            return self.encode(value.value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            self.buffers.append(value.tobytes())
            return {"scalar": [value.dtype.str, len(self.buffers[-1])]}
        if type(value) is np.random.Generator:
            return {"generator": value.bit_generator.state}
        handle = value if type(value) is Handle else self._keep(value) if self._keep else None
        if handle is None:
            raise TypeError(f"{type(value).__name__} cannot cross the wire")
        return {"handle": [handle.id, handle.type, handle.text]}

    def _array(self, value: Array) -> list[Any]:
        if value.size > MAX_ELEMENTS:
            raise ValueError(f"an array of shape {value.shape} is too large")
        if value.size == 0 or value.flags.c_contiguous:
            return self._plain(value)
        steps = [s * (n - 1) for n, s in zip(value.shape, value.strides, strict=True)]
        low, high = sum(min(0, s) for s in steps), sum(max(0, s) for s in steps) + value.itemsize
        if high - low > 2 * value.nbytes:
            return self._plain(value)
        # the memory as it lies, so that the other side sees the same layout
        self.buffers.append(ctypes.string_at(value.ctypes.data + low, high - low))
        return [value.dtype.str, value.shape, list(value.strides), -low, high - low, bool(value.flags.writeable)]

    def _plain(self, value: Array) -> list[Any]:
        self.buffers.append(value.tobytes())
        return [value.dtype.str, value.shape, None, 0, value.nbytes, bool(value.flags.writeable)]


class _Reader:
    """Reads the buffers in the order in which they were written."""

    def __init__(self, data: bytes | bytearray, start: int, find: Callable[[int], Any] | None) -> None:
        self._data, self._at, self._find = memoryview(data), start, find
        self._arrays: list[tuple[list[Any], memoryview]] = []
        self._elements = 0

    def _buffer(self, size: int) -> memoryview:
        start = self._at + (-self._at % ALIGN)
        self._at = start + size
        if size < 0 or self._at > len(self._data):
            raise WireError("a buffer is cut short")
        return self._data[start : self._at]

    def decode(self, node: Any) -> Any:
        kind = type(node)
        if kind is list:
            return [self.decode(item) for item in node]
        if kind is not dict:
            return node
        [(tag, body)] = node.items()
        if tag == "names":
            return {key: self.decode(item) for key, item in body.items()}
        if tag == "tuple":
            return tuple([self.decode(item) for item in body])
        if tag == "dict":
            return {self.decode(key): self.decode(item) for key, item in body}
        if tag == "array":
            self._arrays.append((body, self._buffer(body[4])))
            return self._array(self._arrays[-1][1], body)
        if tag == "again":  # memory of its own: what one call writes into must not reach the next
            described, buffer = self._arrays[body]
            return self._array(buffer, described, again=True)
        if tag == "scalar":
            return np.frombuffer(self._buffer(body[1]), _dtype(body[0]))[0]
        if tag == "generator":
            return _generator(body)
        if tag == "handle":
            return self._find(body[0]) if self._find else Handle(int(body[0]), *map(_printable, body[1:3]))
        raise WireError(f"unknown tag {tag!r}")

    def _array(self, buffer: memoryview, described: list[Any], again: bool = False) -> Array:
        self._elements += math.prod(described[1]) + again * len(buffer)
        if self._elements > MAX_ELEMENTS or min(described[1], default=0) < 0:
            raise WireError(f"arrays of {self._elements} elements are too large")
        return _array(memoryview(bytearray(buffer)) if again else buffer, *described)


def _array(
    buffer: memoryview, dtype: str, shape: list[int], strides: list[int] | None, offset: int, size: int, write: bool
) -> Array:
    value: Array = np.ndarray(
        tuple(shape), _dtype(dtype), buffer, offset if strides else 0, tuple(strides) if strides else None
    )
    if value.flags.writeable:
        value.flags.writeable = write
    return value


def _printable(text: Any) -> str:
    """A name may be any text, and is shown in a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:200])


@functools.lru_cache(64)
def _dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in "biufc":
        raise WireError(f"dtype {text} does not cross")
    return dtype


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] not in ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"):
        raise WireError("unknown bit generator")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
