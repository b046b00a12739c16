"""The calls that all submissions of a run meet. Calls of the same content are one, which keeps what solutions gave.

Each check draws the same inputs for every submission. So a call is known by its content, never by the identity of its
arrays, which a check may have written into meanwhile: the shared call has arrays of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from harness import outputs, wire
from harness.arguments import Watched
from harness.model import Call, Signature

MOST, MOST_GIVEN = 4096, 512
PLAIN = (type(None), bool, int, float, str)


class Given(NamedTuple):
    """What a patched reference gave for a call: a value or None, and the inputs that it changed."""

    value: Any
    raised: bool
    changed: tuple[str, ...] = ()


class Calls:
    """Finds the shared call of the same content, and the bytes of a frame of calls."""

    def __init__(self) -> None:
        self._calls: dict[Any, Call] = {}
        self._frames: dict[tuple[int, ...], tuple[list[Call], bytes]] = {}

    def shared(self, call: Call, known: dict[int, Any] | None = None) -> Call:
        """The call that others of the same content share, or the call itself when it cannot be known by its content."""
        known = {} if known is None else known
        try:
            key = (call.function, call.names, *[_key(arg, known) for arg in call.args])
        except TypeError:
            return call
        if key not in self._calls:
            if len(self._calls) >= MOST:  # a submission's own answers may be asked about: there is no end to them
                self._calls.clear()
                self._frames.clear()
            self._calls[key] = Call(call.function, copied(call.args), call.names)
        return self._calls[key]

    def frame(self, calls: Sequence[Call]) -> tuple[list[Call], bytes]:
        """The shared calls, and the bytes that ask a worker for them."""
        known: dict[int, Any] = {}
        shared = [self.shared(call, known) for call in calls]
        key = tuple(map(id, shared))
        if key not in self._frames:
            data = wire.pack([[call.function, *call.args] for call in calls])
            if any(a is b for a, b in zip(calls, shared, strict=True)):
                return shared, data
            self._frames[key] = shared, data
        return self._frames[key]


def copied(value: Any) -> Any:
    """Copies that may be written to where the originals may be."""
    if isinstance(value, np.ndarray):
        own = value.copy(order="K")
        own.flags.writeable = value.flags.writeable
        return own
    return each(value, copied)


def each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same dict, tuple or list with its items changed; a copy of anything else."""
    if isinstance(value, wire.Carried):
        return value
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(change, value))
    return copy.deepcopy(value)


def _key(value: Any, known: dict[int, Any]) -> Any:
    """The content of a value; TypeError when it has none that can be compared. `known` has the arrays met already."""
    kind = type(value)
    if kind is np.ndarray:
        if id(value) not in known:
            known[id(value)] = (
                value.dtype.str,
                value.shape,
                value.strides,
                value.flags.writeable,
                value.tobytes(),
            )
        return known[id(value)]
    if kind is dict:
        return (dict, *[(name, _key(item, known)) for name, item in value.items()])
    if kind is tuple or kind is list:
        return (kind, *[_key(item, known) for item in value])
    if kind is np.random.Generator:
        return kind, repr(value.bit_generator.state)
    if kind in PLAIN or isinstance(value, np.generic):
        return kind, repr(value)
    raise TypeError(kind)


def give(functions: Any, call: Call, args: tuple[Any, ...] | None = None, watch: bool = False) -> Given:
    """What the functions answer to a call, which keeps it. Nobody can write into an array that is kept.

    `args` are the call's as read-only views, where several functions are asked and they are made already.
    """
    key = functions, watch
    if key not in call.given:
        args = frozen(call.args) if args is None else args
        if len(call.given) >= MOST_GIVEN:  # pairs of mistakes: too many to keep all
            call.given.clear()
        call.given[key] = given = _give(functions, call, args, watch)
        outputs.freeze(given.value)
    kept: Given = call.given[key]
    return kept


class Remembered:
    """A solution as the checks see it: asked the same again, it gives what it gave."""

    def __init__(self, functions: Any, signatures: Mapping[str, Signature], calls: Calls) -> None:
        self._functions, self._signatures, self._calls = functions, signatures, calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The function of that name."""
        function: Callable[..., Any] = getattr(self._functions, name)
        if name not in self._signatures:
            return function
        names = self._signatures[name].names

        def remembered(*args: Any) -> Any:
            given = give(self._functions, self._calls.shared(Call(name, args, names)))
            return function(*args) if given.raised else given.value

        return remembered


def _give(functions: Any, call: Call, args: tuple[Any, ...], watch: bool = False) -> Given:
    """What the functions answer, on read-only `args`; on copies when they write into them, or to watch what changes."""
    try:
        passed = [_passed(functions, arg) for arg in (call.args if watch else args)]
        passed = copied(passed) if watch else passed
        watched = Watched(call.names, passed) if watch else None
        with np.errstate(all="ignore"):
            value = getattr(functions, call.function)(*passed)
    except Exception as error:
        return Given(None, True) if watch or "read-only" not in str(error) else _give(functions, call, args, True)
    return Given(value, False, tuple(watched.changed()) if watched else ())


def _passed(functions: Any, arg: Any) -> Any:
    """An argument; what an earlier call gave, as these functions themselves give it. Drawing moves a generator on."""
    if not isinstance(arg, wire.Carried):
        return copy.deepcopy(arg) if isinstance(arg, np.random.Generator) else arg
    return copied(give(functions, arg.call).value[arg.part])


def frozen(value: Any) -> Any:
    """Read-only views: cheap, and enough for code that does not write into its inputs."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    return each(value, frozen)
