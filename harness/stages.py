"""The first named stage at which a person's computation departs from the solution's, and its shapes step by step.

It judges by value: a stage is reached when any traced array equals the solution's, up to its layout. People merge
steps, so a stage that is not reached counts only when nothing that follows from it is. All results are JSON-ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from harness import likeness, outputs, registry, stagewords
from harness.course import Course, Stage, calls, course
from harness.judge import Session
from harness.model import Answer, Call, Traced
from harness.wire import Array

UNTOLD = "could not tell"
__all__ = ["Comparison", "attention", "calls", "departure", "table", "trace"]


def trace(session: Session, call: Call) -> tuple[Traced, ...]:
    """What the variables and functions of a submission held during one call, in order."""
    return session.trace(call).traced


@np.errstate(all="ignore")  # the values are whatever a person's code made of them
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


@np.errstate(all="ignore")
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


def layers(name: str, call: Call) -> int:
    """How many attentions the solution computes in one call."""
    return len(_weights(course(name, call)))


def _weights(way: Course) -> list[Stage]:
    named = (s for s in way.stages if s.known == "weights" and s.name != "output")
    return [s for s in named if likeness.looks_like(s.value, s.value)]


@np.errstate(all="ignore")
def attention(
    name: str, session: Session, call: Call | None = None, layer: int = 0
) -> tuple[Array | None, Array | None]:
    """The attention weights of a call, (B, H, T, S): the person's, None where none are held, and the solution's."""
    call = call or calls(name)[-1]
    weights = _weights(way := course(name, call))
    if not 0 <= layer < len(weights):
        return None, None
    stage, mine = weights[layer], Comparison(way, session.trace(call))
    yours = mine.held(stage)
    if yours is not None:
        whole = yours if likeness.same(yours, stage.value) else yours / yours.sum(axis=-1, keepdims=True)
        return likeness.arranged(whole, stage.value), stage.value
    yours = mine.counterpart(stage)
    if yours is None or yours.shape != stage.value.shape:
        return None, stage.value
    turned = yours.swapaxes(-1, -2) if mine.right else yours  # the answer is right: keys down and queries across
    return (None if mine.right and not likeness.same(turned, stage.value) else turned), stage.value


class Comparison:
    """One traced call beside the solution's course."""

    def __init__(self, way: Course, answer: Answer) -> None:
        self.way, self.answer = way, answer
        self._pool = list(_pieces(answer.traced))
        got = outputs.parts(answer.value, way.answer) or [None]  # not what only its maker reads, like a cache
        pairs = zip(got, outputs.wanted(way.answer), strict=False)
        self.right = all(isinstance(a, np.ndarray) and _equal(a, b) for a, b in pairs)
        self._at = {s.name: self._found(s) for s in way.stages if s.name != "output"}

    def _found(self, stage: Stage) -> int | None:
        """Where the person holds a stage. A value under the stage's own name speaks before one under another name."""
        same = [n for n, t in enumerate(self._pool) if t.value.size == stage.value.size and self._holds(t.value, stage)]
        named = [n for n in same if self._named(self._pool[n], stage)]
        if named or self.right:
            return next(iter([n for n in same if self._pool[n].value.shape == stage.value.shape] or same), None)
        others = [t for t in self._pool if t.value.size == stage.value.size and self._named(t, stage)]
        return None if (others and stage.known) or not same else same[0]

    def _holds(self, got: Array, stage: Stage) -> bool:
        """Whether an array is a stage, or weights that are divided by their sum only after they met the values."""
        if likeness.same(got, stage.value):
            return True
        if stage.name != "weights" or got.shape != stage.value.shape or got.dtype.kind != "f" or not (got >= 0).all():
            return False
        total = got.sum(axis=-1, keepdims=True)
        v = next((s.value for s in self.way.stages if s.name == "v"), None)
        if not (total > 0).all() or v is None or not likeness.same(got / total, stage.value):
            return False
        used = got @ v
        return not any(t.value.size == used.size and likeness.same(t.value, used) for t in self._pool)

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
        output = next((s for s in self.way.stages if s.name == "output"), None)
        passed: list[str] = []
        for stage in self._missing():
            found = None if stage is output else self.counterpart(stage)
            if found is not None and not self._may_follow(found, stage):
                lacks = f"nothing of yours is {_the(passed[0])}" if passed else ""
                lacks = "no variable holds what lies between" if len(passed) > 1 else lacks
                return stage, self._says(stage, self._why(found, stage) or lacks)
            passed.append(stage.name)
        return self._output(output) if output else (None, UNTOLD)

    def _output(self, output: Stage) -> tuple[Stage | None, str]:
        """What there is to say of the answer alone."""
        got: Any = self.answer.value
        why = self._why(got, output) if isinstance(got, np.ndarray) else ""
        if not (why or self.agreed(output)):
            return None, UNTOLD
        return output, self._says(output, f"the call {self.answer.raised}" if self.answer.raised else why)

    def _may_follow(self, got: Array, stage: Stage) -> bool:
        """Whether a constant factor may be made up for later, in a step that no variable holds."""
        if likeness.scale(got, stage.value) is None:
            return False
        if stage.name in ("q", "k"):
            return True
        weights = next((s for s in self.way.stages if s.name == "weights"), None)
        if not stage.name.endswith("scores") or weights is None:
            return False
        found = self.counterpart(weights)
        return found is None or not likeness.follows(found, got)

    def _says(self, stage: Stage, why: str) -> str:
        agreed = [f"your {name} {_verb(name, 'agree')}, " for name in self.agreed(stage)[-1:]]
        return f"{''.join(agreed)}your {stage.name} {_verb(stage.name, 'differ')}{f': {why}' if why else ''}"

    def counterpart(self, stage: Stage) -> Array | None:
        """The person's array that goes by the name of a stage and differs: the last that tells why, or the last."""
        before = self.way.stages[: self.way.stages.index(stage)]
        after = max((self._at[s.name] or 0 for s in before if s.leaves <= stage.leaves), default=-1)
        named = [t.value for n, t in enumerate(self._pool) if n >= after and self._named(t, stage)]
        fits = [value for value in named if value.size == stage.value.size]
        if not fits and self.answer.raised is not None and stage.name != "mask":
            fits = [value for value in named if value.ndim == stage.value.ndim]
        fits = [value for value in fits if likeness.looks_like(value, stage.value)] or fits
        telling = [value for value in fits if self._why(value, stage)]
        return next(reversed(telling or fits), None)

    def _named(self, one: Traced, stage: Stage) -> bool:
        """Whether a traced value goes by the name of a stage."""
        if stage.known:
            return stagewords.known(one) == stage.known or likeness.looks_like(one.value, stage.value)
        given = self.way.inputs.get(one.variable)
        bound = given is None or not _equal(one.value, given)
        return bound and (one.function, one.variable) == (stage.function, stage.variable)

    def _why(self, got: Array, stage: Stage) -> str:
        """What is measured about the person's value: it is another stage, an input, or off in a simple way."""
        others = {
            f"what {_the(s.name)} should be": s.value for s in self.way.stages if s.name not in (stage.name, "output")
        }
        others |= {f"{name} itself": array for name, array in self.way.inputs.items()}
        alike = _equal if stage.name == "output" else likeness.same
        for words, array in others.items():
            if alike(got, array) and likeness.blocked(got) == likeness.blocked(array):
                return f"that is {words}"
        return likeness.how(got, stage.value, self.way.sizes) or likeness.added(got, self._terms())

    def _terms(self) -> dict[str, Array]:
        return {**self.way.inputs, **{_the(s.name): s.value for s in self.way.stages if s.name != "output"}}


def _the(name: str) -> str:
    return name if len(name) == 1 else f"the {name}"


def _verb(name: str, verb: str) -> str:
    return verb if name.endswith("s") else f"{verb}s"


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype.kind == other.dtype.kind and likeness.near(one, other)


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
