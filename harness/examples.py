"""The visible examples of a kata's prompt, as calls, and what a submission makes of them."""

from __future__ import annotations

import copy
import doctest
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

from harness import expect, registry, stubs
from harness.judge import Session
from harness.model import Answer, Call, Raised, Submission, Wrong


@dataclass(frozen=True)
class Example:
    """One call that the prompt shows: the lines before it that it needs, its own, and the call itself."""

    before: str
    source: str
    call: Call


@cache
def examples(name: str) -> tuple[Example, ...]:
    """The calls of the kata's own functions that the prompt's `>>>` lines make, each once."""
    solution, calls = registry.solution(name), list[Call]()
    scope = dict(vars(solution.reference()))
    scope |= {function: _recorded(scope[function], calls) for function in registry.kata(name).functions}
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


def _recorded(function: Callable[..., Any], calls: list[Call]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if bound.kwargs:  # a default before it was left out
            bound.apply_defaults()
        calls.append(Call(function.__name__, copy.deepcopy(bound.args), tuple(signature.parameters)))
        return function(*args, **kwargs)

    return recorded


def trial(session: Submission, name: str) -> tuple[tuple[Example, str], ...]:
    """Every visible example with what is wrong with the submission's answer, in one line; '' when nothing is."""
    shown = examples(name)
    cause = _unusable(session)
    if cause:
        return tuple((example, cause) for example in shown)
    reference = registry.solution(name).reference()
    answers = session.ask([example.call for example in shown])
    return tuple((e, _said(e.call, answer, reference)) for e, answer in zip(shown, answers, strict=True))


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
        expect.same(call, answer, getattr(reference, call.function)(*copy.deepcopy(call.args)))
    except Wrong as wrong:
        return " ".join(wrong.says.split())
    return ""
