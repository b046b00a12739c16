"""Calls of any size for any kata, made from the calls that its own core checks make. No kata is named here.

The solution answers the core checks, and every call is kept. Axes that have the same size in all of
these calls belong together (the width of x and the rows of wq), so that they are grown together. Which axes are tokens
follows from the conventions of all katas: axis 1 of (B, T, d) and of ids (B, T), axis 2 of (B, H, T, dh), both axes of
what a checks file calls a (..., T, S) map, and a number called `length`. A grown call is kept only if the solution
accepts it; where it refuses, a table may be too short, and is grown too.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from harness import probe, registry
from harness.calls import Calls, Remembered
from harness.model import Call, Wrong
from harness.recorder import Recorder
from harness.wire import Array

WIDTH = 64
DEFAULT_HEADS = 4
SHORTEST, LONGEST = 32, 512
Path = tuple[Any, ...]
Axis = tuple[Path, int]


class Leaf(NamedTuple):
    """An array among the arguments: where it lies, and the array."""

    path: Path
    value: Array


@cache
def recorded(name: str) -> tuple[Call, ...]:
    """Every call of the core checks: a spread of shapes. Not those that draw: how somebody draws is open."""
    found: list[Call] = []
    for check in (check for check in registry.kata(name).checks if check.level == "core"):
        recorder = Recorder(name)
        reference = Remembered(registry.solution(name).reference(), registry.wanted(name), Calls())
        with suppress(Wrong):  # a check of what only a process shows, such as inputs that are read-only
            check.function(recorder, reference, probe.generator(0, name, check.name))
        found += (c for c in recorder.calls if not any(isinstance(arg, np.random.Generator) for arg in c.args))
    return tuple(Call(call.function, copy.deepcopy(call.args), call.names) for call in found)


def leaves(value: Any, path: Path = ()) -> Iterator[Leaf]:
    """The arrays in a value, also inside tuples, lists and dicts."""
    if isinstance(value, np.ndarray):
        yield Leaf(path, value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))


def mapped(value: Any, change: Callable[[Path, Array], Array], path: Path = ()) -> Any:
    """The same value with its arrays exchanged, also inside tuples, lists and dicts."""
    if isinstance(value, np.ndarray):
        return change(path, value)
    if isinstance(value, Mapping):
        return {key: mapped(item, change, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change, (*path, n)) for n, item in enumerate(value))
    return copy.deepcopy(value)


def narrowed(call: Call) -> Call:
    """The same call with its float arrays in float32."""
    args = mapped(call.args, lambda _, a: a.astype(np.float32) if a.dtype.kind == "f" else a)
    return Call(call.function, args, call.names)


def has_floats(call: Call) -> bool:
    """Whether a call takes a float array."""
    return any(value.dtype.kind == "f" for _, value in leaves(call.args))


class Sizes:
    """One function of a kata at any size."""

    def __init__(self, name: str, function: str) -> None:
        calls = [call for call in recorded(name) if call.function == function]
        self._run = getattr(registry.solution(name).reference(), function)
        self._letters = registry.kata(name).shapes
        telling = sorted(calls, key=_telling, reverse=True)
        for base in dict.fromkeys(map(_form, telling)):  # a mask whose axes nothing tells apart cannot be grown
            alike = [call for call in telling if _form(call) == base]
            self._read(alike[0], alike)
            if self.call(tokens=SHORTEST) is not None:
                return
        self._read(telling[0], [call for call in calls if _form(call) == _form(telling[0])])

    def _read(self, base: Call, alike: list[Call]) -> None:
        """Read off the classes of axes from calls of one form."""
        self.__dict__.pop("_tables", None)
        self.base, self._alike = base, alike
        self._class = _classes(self._alike)
        self._length = [n for n, v in zip(self.base.names, self.base.args, strict=False) if n == "length"]
        arrays = list(leaves(self.base.args))
        self._sizes: dict[int, int] = {
            self._class[path, axis]: n for path, value in arrays for axis, n in enumerate(value.shape)
        }
        self.tokens = self._named(arrays, self._token_axes)
        self.batch = self._named(arrays[:1], lambda _, a: [0] if a.ndim >= 2 + (a.dtype.kind == "f") else [])
        self.heads = self._named(arrays, lambda _, a: [1] if a.ndim == 4 and a.dtype.kind == "f" else [])
        self.heads -= self.tokens
        self.has_heads = bool(self.heads) or "heads" in self.base.names

    @property
    def grows(self) -> bool:
        """Whether the function takes tokens at all."""
        return bool(self.tokens or self._length)

    def call(self, tokens: int = 5, heads: int = 0, batch: int = 0) -> Call | None:
        """A drawn call of that many tokens (and heads, and sequences); None when the solution does not take it."""
        heads = heads or (DEFAULT_HEADS if "heads" in self.base.names else 0)
        sizes = {c: self._size(c, tokens, heads, batch, True) for c in self._sizes}
        sizes |= {c: max(sizes[c], tokens) for c in self._tables}
        call = self._drawn(sizes, tokens, heads)
        return call if tokens > SHORTEST or self._accepts(call) else None

    @cached_property
    def _tables(self) -> set[int]:
        """The classes that must be as long as there are tokens: found on a call of many tokens, all else small."""
        tokens = 2 * max(self._sizes.values(), default=1)
        sizes = {c: self._size(c, tokens, 0, 0, False) for c in self._sizes}
        if self._accepts(self._drawn(sizes, tokens, 0)):
            return set()
        rest = set(sizes) - self.tokens - self.batch - self.heads
        return {c for c in rest if self._accepts(self._drawn(sizes | {c: tokens}, tokens, 0))}

    def _size(self, c: int, tokens: int, heads: int, batch: int, wide: bool) -> int:
        if c in self.tokens:
            return tokens
        if c in self.batch:
            return batch or self._sizes[c]
        if c in self.heads:
            return heads or self._sizes[c]
        return self._sizes[c] * self._wider(heads) if wide else self._sizes[c]

    def _wider(self, heads: int) -> int:
        """One factor for all widths, so that what divided before still divides; with new heads, these divide too."""
        widths = [int(value.shape[-1]) for _, value in leaves(self.base.args) if value.dtype.kind == "f"]
        factor = max(1, round(WIDTH / widths[0])) if widths else 1
        return heads * max(1, round(factor / heads)) if "heads" in self.base.names and heads else factor

    def _drawn(self, sizes: dict[int, int], tokens: int, heads: int) -> Call:
        rng = np.random.default_rng(tokens)

        def redrawn(path: Path, value: Array) -> Array:
            shape = [sizes[self._class[path, axis]] if n > 1 else n for axis, n in enumerate(value.shape)]
            return _draw(value, tuple(shape), rng)

        args: list[Any] = []
        for index, (name, value) in enumerate(zip(self.base.names, self.base.args, strict=False)):
            if name == "length":
                args.append(tokens)
            elif name == "heads" and heads:
                args.append(heads)
            else:
                args.append(mapped(value, redrawn, (index,)))
        return Call(self.base.function, tuple(args), self.base.names)

    def _accepts(self, call: Call) -> bool:
        try:
            self._run(*copy.deepcopy(call.args))
        except Exception:
            return False
        return True

    def _named(self, arrays: Iterable[Leaf], axes: Any) -> set[int]:
        return {self._class[path, axis] for path, value in arrays for axis in axes(path, value)}

    def _token_axes(self, path: Path, value: Array) -> list[int]:
        name = self.base.names[path[0]] if len(path) == 1 else ""
        if self._letters.get(name, "").endswith(("T, S)", "T, T)")):
            return [value.ndim - 2, value.ndim - 1]
        if value.dtype.kind == "f":
            return {3: [1], 4: [2]}.get(value.ndim, [])
        return [1] if value.dtype.kind in "iu" and value.ndim == 2 else []


def _telling(call: Call) -> tuple[int, ...]:
    """Which call to grow: the one with most arrays, fewest options, highest rank, most different sizes, smallest."""
    arrays = [value for _, value in leaves(call.args)]
    sizes = [n for value in arrays for n in value.shape]
    rank = arrays[0].ndim if arrays else 0
    return len(arrays), -len(call.args), rank, -sizes.count(1), len(set(sizes)), -sum(sizes)


def _form(call: Call) -> tuple[Any, ...]:
    return tuple((path, value.ndim, value.dtype.kind) for path, value in leaves(call.args))


def _classes(calls: Sequence[Call]) -> dict[Axis, int]:
    """The number of the class of each axis: axes of the same size in every call are one class."""
    seen: dict[Axis, list[int]] = defaultdict(list)
    for call in calls:
        for path, value in leaves(call.args):
            for axis, size in enumerate(value.shape):
                seen[path, axis].append(size)
    numbers: dict[tuple[int, ...], int] = {}
    return {axis: numbers.setdefault(tuple(sizes), len(numbers)) for axis, sizes in seen.items()}


def _draw(base: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if base.dtype.kind == "b":  # nothing blocks everything: the first entry of each row stays open
        blocked = rng.random(shape) < 0.25
        blocked[..., 0] = False
        return blocked
    if base.dtype.kind in "iu":
        return rng.integers(base.min(), base.max() + 1, shape).astype(base.dtype)
    scale = shape[0] ** -0.5 if len(shape) == 2 else 1.0
    return (rng.standard_normal(shape) * scale).astype(base.dtype)
