"""The visible examples of a kata's prompt, as calls, and what a submission makes of them."""

from __future__ import annotations

import copy
import doctest
import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy as np

from harness import expect, registry, stubs
from harness.calls import give
from harness.judge import Session
from harness.model import Answer, Call, Raised, Submission, Wrong
from harness.wire import Carried


class Example(NamedTuple):
    """One call that the prompt shows: the lines before it that it needs, its own, and the call itself."""

    before: str
    source: str
    call: Call


@cache
def examples(name: str) -> tuple[Example, ...]:
    """The calls of the kata's own functions that the prompt's `>>>` lines make, each once."""
    solution, calls, results = registry.solution(name), list[Call](), list[tuple[Call, Any]]()
    scope = dict(vars(solution.reference()))
    scope |= {function: _recorded(scope[function], calls, results) for function in registry.kata(name).functions}
    found: dict[str, Example] = {}
    before = ""
    for shown in doctest.DocTestParser().get_examples(stubs.prompt(solution.source)):
        _run(shown.source, scope)
        for call in calls:
            found.setdefault(repr(call), Example(before, shown.source.rstrip(), call))
            before = ""
        before = "" if calls else before + shown.source
        calls.clear()
    return tuple(found.values())


def _run(source: str, scope: dict[str, Any]) -> None:
    """Run one example. An expression is evaluated, since executing it would print its value."""
    try:
        code = compile(source, "<example>", "eval")
    except SyntaxError:
        code = compile(source, "<example>", "exec")
    eval(code, scope)


def _recorded(function: Callable[..., Any], calls: list[Call], results: list[tuple[Call, Any]]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if bound.kwargs:  # a default before it was left out
            bound.apply_defaults()
        passed = tuple(_carried(arg, results) or copy.deepcopy(arg) for arg in bound.args)
        calls.append(Call(function.__name__, passed, tuple(signature.parameters)))
        results.append((calls[-1], function(*args, **kwargs)))
        return results[-1][1]

    return recorded


def trial(session: Submission, name: str) -> tuple[tuple[Example, str], ...]:
    """Every visible example with what is wrong with the submission's answer, in one line; '' when nothing is."""
    shown = examples(name)
    cause = _unusable(session)
    if cause:
        return tuple((example, cause) for example in shown)
    reference = registry.solution(name).reference()
    answers: dict[int, Answer] = {}
    for example in shown:  # one by one, since a later call may pass on what an earlier one gave
        args = tuple(_own(arg, answers) if isinstance(arg, Carried) else arg for arg in example.call.args)
        [answers[id(example.call)]] = session.ask([Call(example.call.function, args, example.call.names)])
    return tuple((e, _said(e.call, answers[id(e.call)], reference)) for e in shown)


def _carried(arg: Any, results: list[tuple[Call, Any]]) -> Carried | None:
    """What an earlier call gave beside its arrays, such as a cache; None for any other argument."""
    if arg is None or isinstance(arg, np.ndarray | int | float):
        return None
    parts = ((call, n, part) for call, result in results if type(result) is tuple for n, part in enumerate(result))
    return next((Carried(part, call, n) for call, n, part in parts if part is arg), None)


def _own(carried: Carried, answers: dict[int, Answer]) -> Carried:
    """The same part of what this submission gave; None where it gave no such thing."""
    value = answers[id(carried.call)].value
    fits = type(value) in (tuple, list) and len(value) > carried.part
    return Carried(value[carried.part] if fits else None, carried.call, carried.part)


def _unusable(session: Submission) -> str:
    """Why the file cannot be asked at all."""
    if not isinstance(session, Session):
        return ""
    cause: Raised | None = session.loaded().broken or session.dead
    return (cause.message if cause.fatal else cause.text) if cause else session.misfit


def _said(call: Call, answer: Answer, reference: Any) -> str:
    if answer.raised is not None and answer.raised.type == "NotImplementedError":
        return f"{call.function} is not implemented yet"
    try:
        expect.same(call, answer, give(reference, call).value)
    except Wrong as wrong:
        return " ".join(wrong.says.split())
    return ""
