"""The calls that a kata's own core checks make, recorded by running them on the reference in this process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from harness import probe, registry
from harness.calls import Calls, Remembered
from harness.model import Answer, Call, Raised, Submission
from harness.wire import Array, Carried

SMALL, LARGE, OF_EACH = 600, 100.0, 3


class Recorder(Submission):
    """The reference as a submission in this process; it keeps the calls that checks make.

    Not those that pass on what an earlier call gave: to another submission it means nothing. Nor those that it refuses.
    """

    def __init__(self, name: str) -> None:
        self.signatures, self.calls = registry.wanted(name), list[Call]()
        self._reference = registry.solution(name).reference()

    def ask(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer as the reference does."""
        answers = [self._answer(call) for call in calls]
        given = [call for call, answer in zip(calls, answers, strict=True) if answer.raised is None]
        self.calls += [call for call in given if not any(isinstance(arg, Carried) for arg in call.args)]
        return answers

    def _answer(self, call: Call) -> Answer:
        try:
            return Answer(called(self._reference, call))
        except ValueError as refused:
            return Answer(raised=Raised("ValueError", str(refused), ("ValueError",)))


def called(functions: Any, call: Call) -> Any:
    """The value of a call in this process; its arguments stay as they are."""
    args = [arg.value if isinstance(arg, Carried) else arg for arg in call.args]
    return getattr(functions, call.function)(*copy.deepcopy(args))


@cache
def recorded(name: str) -> tuple[tuple[Call, ...], ...]:
    """Ordinary small calls of each core check."""
    found = []
    for check in (check for check in registry.kata(name).checks if check.level == "core"):
        recorder = Recorder(name)
        reference = Remembered(registry.solution(name).reference(), registry.wanted(name), Calls())
        with suppress(Exception):  # a check of what the judge alone can see, or of what must raise
            check.function(recorder, reference, probe.generator(0, name, check.name))
        found.append(tuple(call for call in recorder.calls if _ordinary(call)))
    return tuple(found)


def few(name: str) -> tuple[Call, ...]:
    """The first calls of each core check."""
    return tuple(call for calls in recorded(name) for call in calls[:OF_EACH])


def _ordinary(call: Call) -> bool:
    inside = arrays(call.args)
    return sum(a.size for a in inside) <= SMALL and all(not (np.isfinite(a) & (abs(a) > LARGE)).any() for a in inside)


def arrays(value: Any) -> list[Array]:
    """The arrays and numbers in a value, in order."""
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return [np.asarray(value)]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [array for item in inside for array in arrays(item)]
