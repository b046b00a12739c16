"""The checks that causal layers and models share: the direction of the mask, what depends on what, what is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness import expect, grids
from harness.influence import closed_map
from harness.model import Answer, Call, Function, Wrong
from harness.moves import moves
from harness.probe import Rng
from harness.wire import Array

Case = tuple[Any, ...]


def not_reversed(ask: Function, right: expect.Right, closed: list[Case], args: Case) -> None:
    """The mask hides the future, not the past: on `closed` calls (see `influence`), and on the ordinary call `args`."""
    *shut, (call, answer) = ask.each([*closed, args])
    read = closed_map(a.value for _, a in shut)
    if read.direction == "reversed" and read.sees is not None:
        says = f"the attention of {ask.name} is reversed: position i sees only j >= i"
        raise Wrong(says, _seen(read.sees), call=shut[0][0], answer=shut[0][1], mistake="reversed_mask")
    if _is_turned_round(answer, call, right):
        says = "the result is right for x turned round in time: position i sees only j >= i"
        raise Wrong(says, call=call, answer=answer, mistake="reversed_mask")


def sees_no_later(ask: Function, right: expect.Right, closed: list[Case], args: Case, rng: Rng) -> None:
    """Row i depends on the rows 0 to i of the first argument: in the attention itself, and in the layer as a whole."""
    shut = list(ask.each(closed))
    read = closed_map(answer.value for _, answer in shut)
    if read.sees is not None and read.direction != "causal":  # the residual may hide it from the open map
        raise Wrong(f"in attention, {read.words}", _seen(read.sees), call=shut[0][0])
    map_ = moves(ask, right, args, 0, rng, over=(0, 2)).map
    if not (map_ == np.tri(len(map_), dtype=bool)).all():
        raise _leak(ask, args, map_, read.direction == "causal")


def prefix_stays(ask: Function, right: expect.Right, args: Case) -> None:
    """What follows a prefix of the first argument does not change the result for that prefix, wherever it is cut."""
    sequence, *rest = args
    T = sequence.shape[1]
    *short, (call, answer) = ask.each([(sequence[:, :n].copy(), *rest) for n in range(1, T + 1)])
    full = expect.returned(call, answer, right(*args))
    for call, answer in short:
        n = call.args[0].shape[1]
        hint = f"Should be: as with all {T} tokens there. Here the last {T - n} are cut off."
        expect.same(call, answer, full[:, :n], hint)


def all_used(ask: Function, right: expect.Right, args: Case, others: Mapping[str, Case]) -> None:
    """Every other call changes one thing, which its name tells, and with it the result of the call `args`."""
    answers, want = list(ask.each([args, *others.values()])), right(*args)
    base, *changed = [expect.returned(call, answer, want) for call, answer in answers]
    unused = [n for n, got in enumerate(changed, 1) if not expect.differs(got, base).any()]
    if unused and np.isfinite(base).all():
        call, answer = answers[unused[0]]
        names = " or ".join(list(others)[n - 1] for n in unused[:6])
        raise Wrong(
            f"changing {names} does not change the result of {ask.name}", "Is it used?", call=call, answer=answer
        )


def _is_turned_round(answer: Answer, call: Call, right: expect.Right) -> bool:
    """Whether the answer is the right one for a sequence that runs backwards."""
    x, *rest = call.args
    want = right(x[:, ::-1], *rest)[:, ::-1]
    got = answer.value
    fits = isinstance(got, np.ndarray) and got.shape == want.shape and got.dtype.kind == "f"
    return fits and not expect.differs(got, want).any()


def _seen(map_: Array) -> str:
    """Who sees whom in the attention, yours beside expected."""
    return grids.influence(map_, np.tri(len(map_), dtype=bool), "query", "key")


def _leak(ask: Function, args: Case, map_: Array, masked: bool) -> Wrong:
    """What to say of an open map that is wrong. The same call twice tells a leak from a result left to chance."""
    (call, one), (_, two) = ask.each([args, args])
    if np.shape(one.value) != np.shape(two.value) or expect.differs(one.value, two.value).any():
        return Wrong(f"{ask.name} gives another result when it is called again", "Is it left to chance?", call=call)
    expected = np.tri(len(map_), dtype=bool)
    i, j = (int(n) for n in np.argwhere(map_ != expected)[0])
    says = f"row {i} of {ask.name} {'depends' if j > i else 'does not depend'} on row {j} of x"
    hint = "The mask hides the future. Does a norm or an unmasked softmax run over it?"
    return Wrong(says, grids.influence(map_, expected), *([hint] if masked and j > i else []), call=call)
