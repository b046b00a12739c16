from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from harness.model import Answer, Call, Function, Wrong
from harness.moves import moves, stays
from harness.probe import generator
from harness.wire import Array

RNG = generator(0, "moves")
X = RNG.standard_normal((2, 4, 3))


def local(function: Callable[..., Any]) -> Function:
    def ask(calls: Sequence[Call]) -> Iterator[Answer]:
        return (Answer(function(*call.args)) for call in calls)

    return Function("f", ("x",), ask)


def sums(x: Array) -> Array:
    return np.asarray(x.cumsum(axis=1))


def test_a_map_shows_what_each_row_moves() -> None:
    found = moves(local(sums), sums, (X,), 0, RNG, over=(0, 2))
    found.should_be(np.tri(4, dtype=bool), "output row", "input row")
    each = moves(local(sums), sums, (X,), 0, RNG)
    each.should_be(np.tile(np.tri(4, dtype=bool), (2, 1)), "output row", "input row")


def test_a_wrong_map_is_told_as_a_sentence_a_grid_and_a_call() -> None:
    found = moves(local(sums), sums, (X,), 0, RNG, over=(0, 2))
    with pytest.raises(Wrong) as wrong:
        found.should_be(np.eye(4, dtype=bool), "output row", "input row", "as they stand")
    assert wrong.value.says == "f: replacing input row 0 moves output rows 0 to 3, should move output row 0"
    assert wrong.value.shows[0] == "as they stand" and "! ! # ." in wrong.value.shows[1]
    assert wrong.value.call is not None and wrong.value.call.args == (X,)


def test_nothing_moves_and_pairs_are_listed() -> None:
    found = moves(local(np.ones_like), np.ones_like, (X,), 0, RNG, over=(0, 2))
    with pytest.raises(Wrong, match=r"moves nothing, should move output rows 0 and 2$"):
        found.should_be(np.array([[1, 0, 0, 0], [0] * 4, [1, 0, 0, 0], [0] * 4], bool), "output row", "input row")


def test_a_layer_norm_is_not_blind_to_the_replacement() -> None:
    def norm(x: Array) -> Array:
        return np.asarray((x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True))

    moves(local(norm), norm, (X,), 0, RNG, over=(0, 2)).should_be(np.eye(4, dtype=bool), "output row", "input row")


def test_a_wrong_shape_and_nan_come_before_the_map() -> None:
    with pytest.raises(Wrong, match="has shape"):
        moves(local(lambda x: x[0]), sums, (X,), 0, RNG)
    with pytest.raises(Wrong, match="is nan, should be"):
        moves(local(lambda x: x * np.nan), sums, (X,), 0, RNG)


def test_an_answer_that_stays_may_be_wrong_but_must_stay() -> None:
    stays(local(np.zeros_like), [(X,), (X + 1,)], X, "x grows")
    with pytest.raises(Wrong, match=r"should stay .* when x grows"):
        stays(local(sums), [(X,), (X + 1,)], X, "x grows")
    with pytest.raises(Wrong, match="is nan, should stay"):
        stays(local(lambda x: np.where(x < 0, np.nan, 0.0)), [(np.abs(X),), (-np.abs(X),)], X, "x turns")
