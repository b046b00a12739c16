"""Checks by influence: replace the rows of one input, one by one, and see which parts of the answer move.

Unlike the maps in `influence`, which read a causal mask, these compare with any map that should come out, and with
each row of a batch on its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from harness import expect, grids, wording
from harness.model import Call, Function, Wrong
from harness.probe import Rng, normal
from harness.wire import Array


class Moves(NamedTuple):
    """`map[i, j]`: whether part i of the answer moves when row j of an input is replaced, in the call `call`."""

    map: Array
    call: Call

    def should_be(self, want: Array, rows: str, columns: str, *shows: str) -> None:
        """The map is `want`; Wrong otherwise, with both as a grid. `rows` and `columns` say what i and j are."""
        wrong = self.map != want
        if not wrong.any():
            return
        j = int(wrong.any(axis=0).argmax())
        moved, must = listed(rows, self.map[:, j]), listed(rows, want[:, j])
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

    The new rows are unrelated to the old ones, since a layer norm is blind to a shift and to a scaling.
    """
    rows = np.moveaxis(args[vary], axis, 0)
    cases = [args]
    for j in range(len(rows)):
        changed = rows.copy()
        changed[j] = normal(rng, *changed[j].shape, deviation=2)
        cases.append((*args[:vary], np.ascontiguousarray(np.moveaxis(changed, 0, axis)), *args[vary + 1 :]))
    return moved(ask, right(*args), cases, over)


def moved(ask: Function, want: Any, cases: list[tuple[Any, ...]], over: tuple[int, ...]) -> Moves:
    """What moves in each case after the first, which gives `want`; the answer's axes `over` count together.

    Every answer must have the right shape and kind, and the first one no NaN where none belongs.
    """
    answers = list(ask.each(cases))
    base, *others = [expect.returned(call, answer, want) for call, answer in answers]
    if not np.isfinite(base).all():
        expect.same(*answers[0], want)
    map_ = np.stack([expect.differs(value, base).any(axis=over).ravel() for value in others], axis=-1)
    return Moves(map_, answers[0][0])


def stays(ask: Function, cases: list[tuple[Any, ...]], right: Array, when: str) -> None:
    """All the cases give what the first one gives, be that right or wrong. `right` is what its shape should be like."""
    (call, answer), *others = ask.each(cases)
    base = expect.returned(call, answer, right)
    for call, answer in others:
        got = expect.returned(call, answer, right)
        wrong = expect.differs(got, base)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            text, where = wording.describe(call)
            is_, should = grids.pair(got[at], base[at])
            says = f"{text}{list(at)} is {is_}, should stay {should} when {when}"
            raise Wrong(says, f"{wrong.sum()} of {wrong.size} entries move", *where, call=call, answer=answer)


def listed(rows: str, flags: Array) -> str:
    """The flagged numbers in words, runs of three and more as a range: rows 0 to 3 and 6."""
    words: list[str] = []
    start = 0
    for i, flag in enumerate([*flags, False]):
        if flag:
            continue
        run = [str(n) for n in range(start, i)]
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
        start = i + 1
    if not words:
        return "nothing"
    found = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"{rows}{'s' if flags.sum() > 1 else ''} {found}"
