"""The kit's own sources, run in this process behind the door's interface, so that a proof can ask about many seeds.

The worker that loads and answers is the one that runs in a process of its own; only the wire is left out. Nothing holds
the code back here: this is not for a person's file.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from harness import answers, wire
from harness.calls import Calls, Given, copied, each
from harness.judge import UNLIMITED, Judge, Session
from harness.model import Answer, Call, Signature
from harness.outputs import freeze
from harness.prints import Prints
from harness.worker import Worker


class Inside(Judge):
    """A judge without processes. `functions` is what the next source becomes as a patched reference, if it is one.

    What the source answers is then kept as the answer of that reference too, which it is.
    """

    def __init__(self) -> None:
        self.limits, self.calls = UNLIMITED, Calls()
        self.functions: Any = None

    def open(self, path: Path, source: bytes, name: str, wanted: Mapping[str, Signature]) -> Session:
        """Load a source of our own."""
        return _Inside(_Worker(str(path), source, name, Prints("")), wanted, self.calls, self.functions)

    def close(self) -> None:
        """There is nothing to end."""


class _Inside(Session):
    def __init__(self, worker: Worker, wanted: Mapping[str, Signature], calls: Calls, functions: Any) -> None:
        self.signatures, self._calls, self._worker, self._functions = wanted, calls, worker, functions
        self.records: list[tuple[str, Call, Answer]] = []
        self.check, self.prints, self.seconds, self.peak_bytes, self.dead = "", "", 0.0, 0, None
        self.isolation: tuple[str, ...] = ()
        loaded = worker.load({function: (*signature,) for function, signature in wanted.items()})
        self.broken, self.misfit = answers.broken(loaded), "; ".join(loaded.get("misfits", ()))

    def loaded(self) -> Session:
        return self

    def ask(self, calls: Sequence[Call]) -> Iterator[Answer]:
        known: dict[int, Any] = {}
        found = [self._ask(self._calls.shared(call, known)) for call in calls]
        return iter(found)

    def _ask(self, call: Call) -> Answer:
        result = self._worker.observe(call.function, [self._own(arg) for arg in call.args])
        answer = answers.answer(result | {"value": self._sent(result["value"])})
        if self._functions is not None and not answer.raised and not answer.changed:
            key = self._functions, False
            if key not in call.given:
                call.given[key] = given = Given(copied(result["value"]), False)
                freeze(given.value)
        self.records.append((self.check, call, answer))
        return answer

    def _own(self, arg: Any) -> Any:
        """An argument of its own, which it may write into; what it made itself, when that is passed on."""
        if isinstance(arg, wire.Carried):
            arg = arg.value
        return self._worker.find(arg.id) if isinstance(arg, wire.Handle) else copied(arg)

    def _sent(self, value: Any) -> Any:
        """A value as it comes out of the wire."""
        if type(value) is np.ndarray and value.dtype.kind in "biufc":
            return copied(value)
        if type(value) is tuple:
            return each(value, self._sent)
        return value if value is None else wire.unpack(bytearray(wire.pack(value, self._worker.keep)))

    def drain(self) -> None:
        pass

    def close(self, asked: bool = False) -> int:
        return 0


class _Worker(Worker):
    """A worker that leaves this process as it was."""

    def execute(self) -> None:
        module = types.ModuleType(f"katas.{self.name}")
        module.__file__, module.__package__ = self.path, "katas"
        self.functions = module.__dict__
        before = sys.modules.get(module.__name__)
        sys.modules[module.__name__] = module  # a dataclass looks itself up there
        try:
            exec(_compiled(self.source, self.path), module.__dict__)
        finally:
            sys.modules.pop(module.__name__)
            if before is not None:
                sys.modules[module.__name__] = before


@cache
def _compiled(source: bytes, path: str) -> CodeType:
    return compile(source, path, "exec", dont_inherit=True)
