"""What pictures there are of a submission: its masks, the weights of its attention, and what moves what in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from harness import expect, moves, probe, recorder, registry, stages
from harness.judge import Session
from harness.model import Call, Wrong
from harness.pictures import Picture, picture
from harness.wire import Array


class NoSuch(Exception):
    """A head or a layer that there is not; the text says which there are."""


TOKENS = 4  # as many as there are without --tokens
SEED = 4


def gallery(
    name: str, session: Session, tokens: Sequence[str] = (), head: int | None = None, layer: int | None = None
) -> list[Picture]:
    """The pictures of a loaded submission, on inputs as long as the tokens; NoSuch for a head or layer there is not."""
    drawn = weights(name, session, tokens, head, layer)
    found = [*masks(name, session, tokens), *drawn, *influences(name, session, tokens)]
    session.drain()
    return found


def masks(name: str, session: Session, tokens: Sequence[str] = ()) -> Iterator[Picture]:
    """The masks that a kata's functions return, each once."""
    reference, drawn = registry.solution(name).reference(), set[str]()
    for call in recorder.few(name):
        if call.function in drawn:
            continue
        args = tuple(len(tokens) or TOKENS if type(arg) is int and len(call.args) == 1 else arg for arg in call.args)
        want = getattr(reference, call.function)(*args)
        if isinstance(want, np.ndarray) and want.dtype.kind == "b" and want.ndim >= 2:
            drawn.add(call.function)
            got = _value(session, Call(call.function, args, call.names))
            yield _boolean("mask", call.function, got, want, tokens)


def _boolean(kind: Any, title: str, got: Any, want: Array, tokens: Sequence[str]) -> Picture:
    """A picture of the first matrix of a mask. One of 0 and 1 is looked at as a mask that it is."""
    yours = got if isinstance(got, np.ndarray) and got.shape == want.shape and got.dtype.kind in "biuf" else None
    note = "" if yours is not None else f"yours {_kind_of(got)}, should be a mask of shape {want.shape}"
    first = (0,) * (want.ndim - 2)
    if yours is not None and yours.dtype.kind != "b":
        note = f"yours is of dtype {yours.dtype}, should be bool; drawn is where it is not 0"
        yours = yours != 0
    return picture(kind, title, None if yours is None else yours[first], want[first], tokens, note=note)


def weights(
    name: str, session: Session, tokens: Sequence[str] = (), head: int | None = None, layer: int | None = None
) -> Iterator[Picture]:
    """The attention weights of each head, or of one, as the variables of the person's file held them in one call.

    Where there are several layers, those of the first, or of the one that is asked for.
    """
    call = example(name, len(tokens))
    count = stages.layers(name, call) if call else 0
    if layer is not None and not (count > 1 and 0 <= layer < count):
        have = f"{count} layers, 0 to {count - 1}" if count > 1 else "no layers to choose from"
        raise NoSuch(f"there is no layer {layer}: the pictures of {name} have {have}")
    yours, want = stages.attention(name, session, call, layer or 0) if call else (None, None)
    if call is None or want is None:
        return
    which = f"layer {layer or 0}, " if count > 1 else ""
    if head is not None and not 0 <= head < want.shape[1]:
        raise NoSuch(f"there is no head {head}: {name} is shown with {want.shape[1]} heads, 0 to {want.shape[1] - 1}")
    yours = _divided(yours, [t.value for t in stages.trace(session, call)]) if yours is not None else None
    note = "" if yours is not None else "no variable of yours held the weights, so only what they should be is drawn"
    sequences = sum(isinstance(arg, np.ndarray) and arg.ndim == 3 for arg in call.args)
    columns = tokens if sequences <= 1 else ()
    for h in range(want.shape[1]) if head is None else [head]:
        mine = None if yours is None else yours[0, h]
        names = columns or [str(n) for n in range(want.shape[-1])]
        yield picture("weights", f"attention weights of {which}head {h}", mine, want[0, h], tokens, names, note=note)


def _divided(weights: Array, held: Sequence[Array]) -> Array:
    """The weights after their division by the sum, where a variable held them before it."""
    with np.errstate(all="ignore"):
        whole = weights / weights.sum(axis=-1, keepdims=True)
    same = (a for a in held if a.shape == whole.shape and a.dtype.kind == "f" and not expect.differs(a, whole).any())
    return next(same, weights)


def influences(name: str, session: Session, tokens: Sequence[str] = ()) -> Iterator[Picture]:
    """What rows of an attention kata's result move when one row of an input is replaced, an input each."""
    call = example(name, len(tokens))
    if call is None:
        return
    reference = recorder.Recorder(name)
    for number, (arg, label) in enumerate(zip(call.args, call.names, strict=False)):
        if not (isinstance(arg, np.ndarray) and arg.ndim == 3):
            continue
        right = getattr(registry.solution(name).reference(), call.function)
        want, got = (_moved(source, call, right, number) for source in (reference, session))
        assert isinstance(want, np.ndarray)
        axes, columns = ("output row", f"{label} row"), tokens if label == "x" else ()
        title, note = f"which rows of {call.function} move with {label}", got if isinstance(got, str) else ""
        yours = None if isinstance(got, str) else got
        yield picture("influence", title, yours, want, tokens, columns, axes, note)


def _moved(source: Any, call: Call, right: Any, number: int) -> Array | str:
    """The map, or why there is none."""
    rng = probe.generator(SEED, call.function)
    try:
        return moves.moves(getattr(source, call.function), right, call.args, number, rng, over=(0, 2)).map
    except Wrong as wrong:
        return f"not drawn: {wrong.says}"


def example(name: str, length: int = 0) -> Call | None:
    """An ordinary call of an attention kata with B = 1 and T = `length`; None for a kata without attention.

    Without a length T is 4, or 3 where a table of positions is no longer.

    A call is taken that has several heads and leaves nothing out, such as a padding, unless its mask is of another T.
    """
    attends = any(
        "(B, H, T, " in shape and shape.endswith(("T)", "S)")) for shape in registry.kata(name).shapes.values()
    )
    calls = [call for call in recorder.few(name) if attends and _several_heads(call)]
    for call in sorted(calls, key=lambda call: (-sum(arg is not None for arg in call.args), -_count(call.args))):
        args = [arg[:1] if isinstance(arg, np.ndarray) and arg.ndim > 1 else arg for arg in call.args]
        for tokens in [length] if length else [TOKENS, TOKENS - 1]:
            drawn = _sequence(args[0], tokens, probe.generator(SEED, name))
            with suppress(ValueError):
                found = Call(call.function, (drawn, *args[1:]), call.names)
                recorder.called(registry.solution(name).reference(), found)
                return found
    return None


def _count(value: Any) -> int:
    """How many arrays a value holds: a model of several layers holds more than one without any."""
    if isinstance(value, np.ndarray):
        return 1
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return sum(map(_count, inside))


def _sequence(like: Array, length: int, rng: probe.Rng) -> Array:
    """One drawn sequence of that length: of vectors, or of ids."""
    if like.dtype.kind in "iu":
        return rng.integers(0, int(like.max()) + 1, (1, length))
    return probe.normal(rng, 1, length, like.shape[-1])


def _several_heads(call: Call) -> bool:
    x = call.args[0] if call.args else None
    heads = [arg for arg in call.args if type(arg) is int]
    sequence = isinstance(x, np.ndarray) and x.ndim == (2 if x.dtype.kind in "iu" else 3)
    return sequence and bool(heads) and min(heads) > 1


def _value(session: Session, call: Call) -> Any:
    [answer] = session.ask([call])
    return answer.raised if answer.raised else answer.value


def _kind_of(got: Any) -> str:
    if isinstance(got, np.ndarray):
        return f"is {got.shape} of {got.dtype}"
    return str(got) if hasattr(got, "fatal") else f"is of type {type(got).__name__}"
