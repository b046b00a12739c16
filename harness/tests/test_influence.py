"""The direction of a mask is read off the attention itself, whatever else is wrong with the layer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from harness import probe, registry
from harness.influence import (
    CLOSED,
    attention_of,
    closed_layers,
    closed_map,
    closed_mix,
    closed_rows,
    reading,
)
from harness.kata import Form
from harness.model import Answer, Raised, Submission, Wrong

KATA, SOLUTION = registry.kata("pre_ln_block"), registry.solution("pre_ln_block")
DIRECTIONS = {
    "reversed_mask": "reversed",
    "no_mask": "no mask",
    "mask_multiplied": "no mask",
    "diagonal_blocked": "diagonal blocked",
    "inverted_polarity": "inverted",
    "one_future_key_leaks": "leaks",
}
FORMS = [(m.name, form) for m in KATA.mistakes for form in m.forms]
PAIRS = [
    ((a, b), (*one, *other))
    for (a, one), (b, other) in itertools.combinations(FORMS, 2)
    if a != b and {a, b} & set(DIRECTIONS) and not SOLUTION.places(one) & SOLUTION.places(other)
]
HIDDEN = {
    "no_mask",
    "mask_multiplied",
    "mask_times_infinity",
    "inverted_polarity",
    "attention_lost",
    "positions_added",
}  # beside these a reversed mask is none, has no effect, or cannot be read
REVERSED = {"diagonal_blocked", "inverted_polarity"}  # together: exactly the reversed mask


class Patched(Submission):
    """The solution with a form applied, in this process."""

    def __init__(self, form: Form) -> None:
        self.signatures = registry.wanted("pre_ln_block")
        self._functions = SOLUTION.reference(form)

    def ask(self, calls: Any) -> Any:
        return [self._answer(call.args) for call in calls]

    def _answer(self, args: Any) -> Answer:
        try:
            with np.errstate(all="ignore"):
                return Answer(self._functions.pre_ln_block(args[0].copy(), *args[1:]))
        except ValueError as error:
            return Answer(raised=Raised("ValueError", str(error)))


def called_reversed(form: Form) -> bool:
    direction = KATA.checks[0]
    try:
        direction.function(Patched(form), SOLUTION.reference(), probe.generator(0, direction.name))
    except Wrong as wrong:
        assert wrong.mistake == "reversed_mask"
        return True
    return False


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_single_mistake_is_read_as_what_it_is(name: str, form: Form) -> None:
    assert called_reversed(form) == (name == "reversed_mask")
    read = closed_map(answer.value for _, answer in Patched(form).pre_ln_block.each(closed_layers()))
    if read.words and "NaN" not in read.words and name != "attention_lost":
        assert read.direction == DIRECTIONS.get(name, "causal")


def test_beside_another_mistake_reversed_code_alone_is_called_reversed() -> None:
    wrong = []
    for names, form in PAIRS:
        is_reversed = "reversed_mask" in names and not HIDDEN & set(names)
        if set(names) != REVERSED and called_reversed(form) != is_reversed:
            wrong.append(names)
    assert len(PAIRS) > 300
    assert wrong == []


def test_the_closed_rows_are_what_they_are_said_to_be() -> None:
    x = closed_rows()
    assert set(np.unique(x)) == {-1.0, 1.0}
    for rows in x:
        assert (rows.mean(axis=1) == 0).all() and (np.abs(rows.sum(axis=0)) == 1).all()
        assert np.linalg.matrix_rank(np.concatenate([rows, rows @ closed_mix()])) == 2 * CLOSED
    assert (x[0] == -x[1]).all()


def test_an_attention_matrix_is_found_again_beside_any_residual() -> None:
    x, rng = closed_rows(), np.random.default_rng(0)
    attention = np.tril(rng.random((CLOSED, CLOSED)))
    for residual in (np.zeros((CLOSED, CLOSED)), np.eye(CLOSED), rng.standard_normal((CLOSED, CLOSED))):
        found = attention_of(residual @ x + attention @ x @ closed_mix())
        assert found is not None and np.allclose(found, attention, atol=1e-9)
    assert attention_of(rng.standard_normal(x.shape)) is None
    assert attention_of(x[0]) is None
    assert attention_of(None) is None


@pytest.mark.parametrize(
    ("sees", "words"),
    [
        (np.tri(7) > 0, "as it should"),
        (np.tri(7).T > 0, "reversed"),
        (np.tri(7, k=2) > 0, "leaks 2 positions ahead"),
        (np.tri(7) - np.tri(7, k=-4) > 0, "position 4 does not see position 0 (each sees a window of 4)"),
        (np.eye(7) > 0, "position 1 does not see position 0 (each sees itself alone)"),
        (np.tri(7)[::-1] > 0, "position 0 sees position 1, which lies ahead"),
    ],
)
def test_a_map_in_words(sees: Any, words: str) -> None:
    assert words in reading(sees).words


def test_rows_with_nothing_to_see_may_be_nan() -> None:
    i, j = np.indices((5, 5))
    assert reading(j < i, np.arange(5) > 0).direction == "diagonal blocked"
    assert reading(j > i, np.arange(5) < 4).direction == "inverted"
    assert reading(j <= i, np.arange(5) > 3).words == "rows 0 to 3 are NaN or infinite, on inputs of 1 and -1"
