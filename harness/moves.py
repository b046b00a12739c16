"""Checks by influence: replace the rows of one input, one by one, and see which parts of the answer move.

Unlike the maps in `influence`, which read a causal mask, these compare with any map that should come out, and with
each row of a batch on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import expect, grids
from harness.model import Call, Function, Wrong
from harness.probe import Rng, normal
from harness.wire import Array


@dataclass(frozen=True)
class Moves:
    """`map[i, j]`: whether part i of the answer moves when row j of an input is replaced; `call` is the call as it was."""

    map: Array
    call: Call

    def should_be(self, want: Array, rows: str, columns: str, *shows: str) -> None:
        """The map is `want`; Wrong otherwise, with both as a grid. `rows` and `columns` say what i and j are."""
        wrong = self.map != want
        if not wrong.any():
            return
        j = int(wrong.any(axis=0).argmax())
        moved, must = _listed(rows, self.map[:, j]), _listed(rows, want[:, j])
        says = f"{self.call.function}: replacing {columns} {j} moves {moved}, should move {must}"
        raise Wrong(says, *shows, grids.influence(self.map, want, rows, columns), call=self.call)


def moves(
    ask: Function,
    right: expect.Right,
    args: tuple[Any, ...],
    vary: int,
    rng: Rng,
    axis: int = 1,
    over: tuple[int, ...] = (2,),
) -> Moves:
    """What moves when row j (along `axis`) of argument `vary` is replaced; the answer's axes `over` count together.

    The new rows are unrelated to the old ones, since a layer norm is blind to a shift and to a scaling. Every answer
    must have the right shape and kind, and the first one no NaN where none belongs.
    """
    rows = np.moveaxis(args[vary], axis, 0)
    cases = [args]
    for j in range(len(rows)):
        changed = rows.copy()
        changed[j] = normal(rng, *changed[j].shape, deviation=2)
        cases.append((*args[:vary], np.ascontiguousarray(np.moveaxis(changed, 0, axis)), *args[vary + 1 :]))
    want = right(*args)
    answers = list(ask.each(cases))
    base, *moved = [expect.returned(call, answer, want) for call, answer in answers]
    if not np.isfinite(base).all():
        expect.same(*answers[0], want)
    map_ = np.stack([expect.differs(value, base).any(axis=over).ravel() for value in moved], axis=-1)
    return Moves(map_, answers[0][0])


def _listed(rows: str, flags: Array) -> str:
    found = [str(i) for i in np.flatnonzero(flags)]
    if not found:
        return "nothing"
    return f"{rows}s {', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else f"{rows} {found[0]}"
