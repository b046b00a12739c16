"""The first named stage at which a person's computation departs from the solution's, and its shapes step by step.

It judges by value: a stage is reached when any traced array equals the solution's, up to its layout. People merge
steps, so a stage that is not reached counts only when nothing that follows from it is. All results are JSON-ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness import likeness, recorder, registry, stagewords
from harness.course import Course, Stage, calls, course
from harness.judge import Session
from harness.model import Answer, Call, Traced
from harness.wire import Array

UNTOLD = "could not tell"


def trace(session: Session, call: Call) -> tuple[Traced, ...]:
    """What the variables and functions of a submission held during one call, in order."""
    return session.trace(call).traced


def departure(name: str, session: Session, asked: Sequence[Call] = ()) -> dict[str, Any]:
    """{"agree": stages, "stage": the first that differs or None, "says": one sentence}, for one call a function.

    "stage" is None when everything agrees, or when the values do not tell where the departure is.
    """
    agree: list[str] = []
    for call in asked or calls(name):
        found = Comparison(course(name, call), session.trace(call))
        stage, says = found.departure()
        agree += [one for one in found.agreed(stage) if one not in agree]
        if says:
            return {"agree": agree, "stage": stage.name if stage else None, "says": says}
    return {"agree": agree, "stage": None, "says": "everything agrees"}


def table(name: str, session: Session, call: Call | None = None) -> list[dict[str, Any]]:
    """The shapes from the inputs to the output: {stage, function, variable, line, shape, letters, yours}.

    Lines are the solution's (0 for an input); `yours` is the shape of the person's array that holds the stage, or None.
    """
    call = call or calls(name)[-1]
    way = course(name, call)
    mine = Comparison(way, session.trace(call))
    letters = stagewords.Letters(way.sizes, registry.kata(name).shapes, way.inputs)
    given = [(Stage(n, call.function, n, 0, a, frozenset()), a) for n, a in way.inputs.items()]
    return [
        dict(zip(("stage", "function", "variable", "line"), stage[:4], strict=True))
        | {"shape": list(stage.value.shape), "letters": letters.of(stage.variable, stage.value.shape)}
        | {"yours": None if yours is None else list(yours.shape)}
        for stage, yours in [*given, *((s, mine.held(s)) for s in way.stages)]
    ]


def attention(name: str, session: Session, call: Call | None = None) -> tuple[Array | None, Array | None]:
    """The attention weights of a call, (B, H, T, S): the person's, None where none are held, and the solution's."""
    call = call or calls(name)[-1]
    way = course(name, call)
    stage = next((s for s in way.stages if s.name == "weights"), None)
    if stage is None:
        return None, None
    mine = Comparison(way, session.trace(call))
    yours = mine.held(stage)
    if yours is not None:
        return likeness.arranged(yours, stage.value), stage.value
    found = mine.counterpart(stage)
    return (found if found is not None and found.shape == stage.value.shape else None), stage.value


class Comparison:
    """One traced call beside the solution's course."""

    def __init__(self, way: Course, answer: Answer) -> None:
        self.way, self.answer = way, answer
        self._pool = list(_pieces(answer.traced))
        self._at = {s.name: self._first(s.value) for s in way.stages if s.name != "output"}
        got, want = recorder.arrays(answer.value), recorder.arrays(way.answer)
        self.right = len(got) == len(want) and all(_equal(a, b) for a, b in zip(got, want, strict=True))

    def _first(self, value: Array) -> int | None:
        return next((n for n, t in enumerate(self._pool) if likeness.same(t.value, value)), None)

    def held(self, stage: Stage) -> Array | None:
        """The person's array that holds a stage."""
        if stage.name == "output":
            value: Any = self.answer.value
            return value if isinstance(value, np.ndarray) else None
        at = self._at[stage.name]
        return None if at is None else self._pool[at].value

    def _reached(self, stage: Stage) -> bool:
        return self.right if stage.name == "output" else self._at[stage.name] is not None

    def agreed(self, until: Stage | None) -> list[str]:
        """The stages that agree, up to one that differs."""
        names = [s.name for s in self.way.stages]
        end = names.index(until.name) if until else len(names)
        return [s.name for s in self.way.stages[:end] if self._reached(s)]

    def _missing(self) -> list[Stage]:
        """The stages that are not reached, nor is anything that follows from them."""
        stages = self.way.stages
        return [
            stage
            for n, stage in enumerate(stages)
            if not self._reached(stage) and not any(self._reached(s) and stage.leaves <= s.leaves for s in stages[n:])
        ]

    def departure(self) -> tuple[Stage | None, str]:
        """The first stage that visibly differs, and the sentence; no words when the answer is right."""
        if self.right:
            return None, ""
        for stage in self._missing():
            if stage.name == "output":
                break
            found = self.counterpart(stage)
            if found is not None:
                return stage, self._says(stage, self._why(found, stage))
        output = next((s for s in self.way.stages if s.name == "output"), None)
        got = self.answer.value
        why = self._why(got, output) if output and isinstance(got, np.ndarray) else ""
        if output is None or not (why or self.agreed(output)):
            return None, UNTOLD
        if self.answer.raised is not None:
            why = f"the call {self.answer.raised}"
        return output, self._says(output, why or "no variable holds what lies between")

    def _says(self, stage: Stage, why: str) -> str:
        agreed = [f"your {name} {_verb(name, 'agree')}, " for name in self.agreed(stage)[-1:]]
        return f"{''.join(agreed)}your {stage.name} {_verb(stage.name, 'differ')}{f': {why}' if why else ''}"

    def counterpart(self, stage: Stage) -> Array | None:
        """The person's array that goes by the name of a stage and differs: the last that tells why, or the last."""
        before = self.way.stages[: self.way.stages.index(stage)]
        after = max((self._at[s.name] or 0 for s in before if s.leaves <= stage.leaves), default=-1)
        named = [t.value for n, t in enumerate(self._pool) if n > after and self._named(t, stage)]
        telling = [value for value in named if self._why(value, stage)]
        return (telling or named or [None])[-1]

    def _named(self, one: Traced, stage: Stage) -> bool:
        """Whether a traced value goes by the name of a stage, is as large, and is not what was passed in."""
        mine, its = stagewords.known(one), stagewords.known(Traced(*stage[1:5]))
        alike = mine == its if its else (one.function, one.variable) == (stage.function, stage.variable)
        given = any(_equal(one.value, a) for a in self.way.inputs.values())
        return alike and one.value.size == stage.value.size and not given

    def _why(self, got: Array, stage: Stage) -> str:
        """What is measured about the person's value: it is another stage, an input, or off in a simple way."""
        for other in self.way.stages:
            if other.name not in (stage.name, "output") and likeness.same(got, other.value):
                return f"it is what the {other.name} should be"
        for name, array in self.way.inputs.items():
            if likeness.same(got, array):
                return f"it is {name} itself"
        return likeness.how(got, stage.value, self.way.sizes)


def _verb(name: str, verb: str) -> str:
    return verb if name.endswith("s") else f"{verb}s"


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and likeness.near(one, other)


def _pieces(traced: Sequence[Traced]) -> Iterator[Traced]:
    """The traced values, and after the last of several of one shape in one variable, all of them stacked."""
    groups: dict[Any, list[Traced]] = {}
    for one in traced:
        groups.setdefault((one.function, one.variable, one.value.shape, one.value.dtype), []).append(one)
    for one in traced:
        yield one
        group = groups[one.function, one.variable, one.value.shape, one.value.dtype]
        if len(group) > 1 and one is group[-1]:
            yield one._replace(value=np.stack([t.value for t in group]))
