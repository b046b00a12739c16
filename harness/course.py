"""The named stages of a kata's computation, from the solution's own trace: a kata needs to declare none."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from harness import expect, recorder, registry, stagewords, wire
from harness.model import Call, Traced
from harness.tracing import Tracer
from harness.wire import Array


class Stage(NamedTuple):
    """One intermediate of the solution.

    `leaves` are the numbers of the inputs that it depends on, `known` the field's word for its variable, or ''.
    """

    name: str
    function: str
    variable: str
    line: int
    value: Array
    leaves: frozenset[int]
    known: str = ""


class Course(NamedTuple):
    """The solution's way from the inputs of one call to the answer, which is the last stage, 'output'."""

    call: Call
    inputs: dict[str, Array]
    stages: tuple[Stage, ...]
    answer: Any
    sizes: dict[str, int]


@cache
def calls(name: str) -> tuple[Call, ...]:
    """One call of each function of a kata under which its stages differ most: from those of its own core checks."""
    each = [call for some in recorder.recorded(name) for call in some if _crosses(call)]
    found = []
    for function in registry.kata(name).functions:
        mine = [call for call in each if call.function == function]
        if mine:
            found.append(max(mine, key=lambda call: _telling(name, call)))
    return tuple(found)


def _crosses(call: Call) -> bool:
    try:
        return bool(wire.pack(call.args))
    except TypeError:
        return False


def _telling(name: str, call: Call) -> tuple[int, ...]:
    """How much a call tells apart: its stages, then the lengths of the axes; of equals the small ones."""
    _, traced = _run(name, call)
    varied = {(t.function, t.variable, t.line) for t in traced if _varies(t.value)}
    given = recorder.arrays(call.args)
    lengths = [*(n for a in given for n in a.shape), *_sizes(name, traced).values()]
    return all(n > 1 for n in lengths), len(varied), len(set(lengths)), -sum(a.size for a in given)


@cache
def _code(name: str) -> Any:
    return compile(registry.solution(name).source, f"<{name}>", "exec")


def _run(name: str, call: Call) -> tuple[Any, tuple[Traced, ...]]:
    """The solution's answer and trace."""
    scope: dict[str, Any] = {"__name__": f"solutions.{name}"}
    exec(_code(name), scope)
    tracer = Tracer(f"<{name}>")
    with np.errstate(all="ignore"):
        value = tracer.call(scope[call.function], copy.deepcopy(call.args))
    return value, tuple(Traced(*found) for found in tracer.found)


def course(name: str, call: Call) -> Course:
    """The solution's stages for a call, from its trace."""
    answer, traced = _run(name, call)
    inputs = _inputs(call)
    kept = [t for t in traced if _is_stage(name, t) and not any(_equal(t.value, a) for a in inputs.values())]
    groups: list[list[Traced]] = []
    for one in kept:
        group = next((g for g in groups if _equal(g[0].value, one.value)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    depends = _dependencies(name, call, traced)
    stages: list[Stage] = []
    for group in groups:
        last = isinstance(answer, np.ndarray) and _equal(group[0].value, answer)
        best = min(group, key=lambda t: stagewords.rank(t, registry.kata(name).functions))
        word = "output" if last else stagewords.word(best, call.names, [s.name for s in stages], group[0].value)
        leaves = next(d for d, t in zip(depends, traced, strict=True) if t is group[0])
        stages.append(
            Stage(word, best.function, best.variable, best.line, group[0].value, leaves, stagewords.known(best))
        )
    stages.sort(key=lambda stage: stage.name == "output")
    return Course(call, inputs, tuple(stages), answer, _sizes(name, traced))


@cache
def _details(name: str) -> frozenset[str]:
    """The functions that call no other function of the file and are not asked for: their variables are no stages."""
    functions = [n for n in ast.parse(registry.solution(name).source).body if isinstance(n, ast.FunctionDef)]
    names = {function.name for function in functions}
    inner = {f.name for f in functions if not names & {n.id for n in ast.walk(f) if isinstance(n, ast.Name)}}
    return frozenset(inner - set(registry.kata(name).functions))


def _is_stage(name: str, one: Traced) -> bool:
    return _varies(one.value) and (one.variable == "return" or one.function not in _details(name))


def _varies(array: Array) -> bool:
    return array.dtype.kind in "bf" and bool((array != array.flat[0]).any())


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype.kind == other.dtype.kind and not expect.differs(one, other).any()


def _inputs(call: Call) -> dict[str, Array]:
    """The arrays among the arguments, also inside dicts and lists, by name."""
    found: dict[str, Array] = {}
    for name, value in zip(call.names, call.args, strict=False):
        for key, array in _leaves(name, value):
            found[key] = array
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(str(key), item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            for key, array in _leaves(name, item):
                yield f"{key} of {name}[{number}]" if key != name else f"{name}[{number}]", array


def _dependencies(name: str, call: Call, traced: Sequence[Traced]) -> list[frozenset[int]]:
    """For each traced value the inputs that move it: each float input is replaced in its turn."""
    moved: list[set[int]] = [set() for _ in traced]
    for number, array in enumerate(_inputs(call).values()):
        if array.dtype.kind != "f" or array.size == 0:
            continue
        args = copy.deepcopy(call.args)
        turned = list(_inputs(Call(call.function, args, call.names)).values())[number]
        turned[...] = 1.25 * np.random.default_rng(0).permutation(array.ravel()).reshape(array.shape)
        with suppress(ValueError):
            _, other = _run(name, Call(call.function, args, call.names))
            for mine, one, two in zip(moved, traced, other, strict=False):
                if not _equal(one.value, two.value):
                    mine.add(number)
    return [frozenset(mine) for mine in moved]


def _sizes(name: str, traced: Sequence[Traced]) -> dict[str, int]:
    """What each letter of the kata's declared shapes stands for in this call."""
    found: dict[str, int] = {}
    for variable, text in registry.kata(name).shapes.items():
        letters = stagewords.split(text)
        shapes = [t.value.shape for t in traced if t.variable == variable and t.value.ndim == len(letters)]
        for letter, size in zip(letters, shapes[-1] if shapes else (), strict=False):
            if not letter.isdigit():
                found.setdefault(letter, size)
    if {"H", "dh"} <= set(found):
        found.setdefault("d", found["H"] * found["dh"])
    return found
