"""What an interviewer says is complete, short, consistent with the catalogue, and true of the solutions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

from harness import clarify, outline, registry
from harness.kata import Term
from harness.symptoms import SYMPTOMS, for_mistakes
from harness.tests.test_scalar import drawn, solution, weights

SIZES = {"B": 2, "T": 3, "S": 5, "H": 4, "dh": 6, "d": 24, "f": 7, "V": 11}
EACH_KATA = pytest.mark.parametrize("name", outline.names())
CODE = re.compile(r"\bnp\.|\bdef |\bimport |\breturn |\)\s*=[^=]|==|\w=\w|\blambda\b|\w+\.\w+\(")


def words(text: str) -> int:
    return len(text.split())


def causal_mask(functions: Any) -> None:
    functions.causal_mask(SIZES["T"])


def stable_softmax(functions: Any) -> None:
    functions.stable_softmax(drawn(1).normal(size=[SIZES[letter] for letter in "BHTS"]))


def split_heads(functions: Any) -> None:
    functions.merge_heads(functions.split_heads(drawn(2).normal(size=(SIZES["B"], SIZES["T"], SIZES["d"])), SIZES["H"]))


def pre_ln_block(functions: Any) -> None:
    rng = drawn(3)
    x = rng.normal(size=(SIZES["B"], SIZES["T"], SIZES["d"]))
    functions.pre_ln_block(x, weights(rng, SIZES["d"], SIZES["f"]), SIZES["H"])


def tied_logits(functions: Any) -> None:
    rng, (B, T, d, V) = drawn(4), (SIZES[letter] for letter in "BTdV")
    E = rng.normal(size=(V, d))
    functions.tied_logits(functions.embed(rng.integers(0, V, (B, T)), E, rng.normal(size=(T + 10, d))), E)


def cross_attention(functions: Any) -> None:
    rng, (B, T, S, d) = drawn(5), (SIZES[letter] for letter in "BTSd")
    padding = np.arange(S) >= np.array([[S - 1], [S - 2]])
    x, memory = rng.normal(size=(B, T, d)), rng.normal(size=(B, S, d))
    functions.cross_attention(x, memory, weights(rng, d), SIZES["H"], padding)


CALLS: dict[str, Callable[[Any], None]] = {
    call.__name__: call
    for call in (causal_mask, stable_softmax, split_heads, pre_ln_block, tied_logits, cross_attention)
}


def shapes_of(name: str) -> dict[str, set[tuple[int, ...]]]:
    """The shapes that each local array of a solution has, wherever it runs."""
    seen: dict[str, set[tuple[int, ...]]] = {}

    def watch(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != f"<{name}>":
            return None
        for local, value in frame.f_locals.items():
            if isinstance(value, np.ndarray):
                seen.setdefault(local, set()).add(value.shape)
        return watch

    functions, before = solution(name), sys.gettrace()
    sys.settrace(watch)
    try:
        CALLS[name](functions)
    finally:
        sys.settrace(before)
    return seen


def spoken(name: str) -> Iterator[str]:
    """Everything that helps without giving code away."""
    kata = registry.kata(name)
    yield from kata.hints
    yield from (mistake.hint for mistake in kata.mistakes if mistake.hint)


@EACH_KATA
def test_there_are_three_hints_three_terms_and_three_questions(name: str) -> None:
    kata = registry.kata(name)
    assert len(kata.hints) == 3
    assert len(kata.terms) >= 3
    assert len(kata.questions) >= 3
    assert len({term.topic for term in kata.terms}) == len(kata.terms)
    assert len({question.asks for question in kata.questions}) == len(kata.questions)


@EACH_KATA
def test_hints_hold_no_code(name: str) -> None:
    lines = {line.strip() for line in registry.solution(name).source.partition("import numpy")[2].splitlines()}
    for text in spoken(name):
        assert not CODE.search(text), text
        assert not [line for line in lines if len(line) > 12 and line in text], text


@EACH_KATA
def test_the_commonest_mistakes_have_a_hint_of_their_own(name: str) -> None:
    hinted = [mistake for mistake in registry.kata(name).mistakes if mistake.hint]
    assert len([mistake for mistake in hinted if mistake.level == "core"]) >= 5
    for mistake in hinted:
        assert mistake.hint not in (mistake.says, mistake.look)
        assert words(mistake.hint) <= 40


@EACH_KATA
def test_model_answers_are_short(name: str) -> None:
    assert [q.asks for q in registry.kata(name).questions if not 1 <= words(q.answer) <= 80] == []
    assert [t.topic for t in registry.kata(name).terms if not 1 <= words(t.answer) <= 40] == []


@EACH_KATA
def test_every_convention_hangs_on_one_term(name: str) -> None:
    kata = registry.kata(name)
    conventions = sorted(mistake.name for mistake in kata.mistakes if mistake.kind == "convention")
    assert sorted(mistake for term in kata.terms for mistake in term.mistakes) == conventions


@EACH_KATA
def test_a_term_is_recognised_by_its_own_question_and_agrees_with_itself(name: str) -> None:
    terms = registry.kata(name).terms
    for term in terms:
        assert clarify.find(terms, term.asks) is term
        assert clarify.reply(terms, term.asks) == term.answer
        assert not [other.topic for other in terms if clarify.contradicts(other, term.answer)]


@EACH_KATA
def test_the_narrated_shapes_are_true(name: str) -> None:
    declared, seen = registry.kata(name).shapes, shapes_of(name)
    assert declared
    for local, text in declared.items():
        shape = tuple(SIZES[size] if size in SIZES else int(size) for size in re.findall(r"\w+", text))
        assert shape in seen.get(local, set()), f"{local} is {text}"


WRONG = [
    ("causal_mask", "I take it that True means keep."),
    ("causal_mask", "1 = may be seen, 0 = masked"),
    ("causal_mask", "True marks the positions that can be attended to"),
    ("causal_mask", "I assume that the diagonal is blocked"),
    ("causal_mask", "a token doesn't attend to itself"),
    ("causal_mask", "True where j >= i"),
    ("causal_mask", "I return an additive mask of 0 and -inf"),
    ("stable_softmax", "A slice that is all -inf comes out uniform"),
    ("stable_softmax", "a wholly masked slice may give NaN"),
    ("stable_softmax", "I convert to float32"),
    ("stable_softmax", "it is always over the last axis"),
    ("stable_softmax", "I will modify the scores to save memory."),
    ("split_heads", "the features are interleaved over the heads"),
    ("split_heads", "the result is (B*H, T, dh)"),
    ("split_heads", "head h gets every H-th feature"),
    ("split_heads", "I fold the heads into the batch"),
    ("pre_ln_block", "I assume post-LN: the norm comes after the residual"),
    ("pre_ln_block", "I use the exact GELU, with erf"),
    ("tied_logits", "I scale the token embedding by sqrt(d)"),
    ("cross_attention", "True means keep in memory_padding"),
]
RIGHT = [
    ("causal_mask", "I assume True means blocked, and that the query may not see the key there."),
    ("causal_mask", "I return bool, not an additive mask"),
    ("causal_mask", "True = future = blocked, dtype bool, shape (T, T)"),
    ("causal_mask", "False means it may be seen"),
    ("causal_mask", "blocked where j > i, so the diagonal is not blocked"),
    ("causal_mask", "The diagonal is False: a position sees itself"),
    ("stable_softmax", "A slice that is all -inf gives zeros, not NaN"),
    ("stable_softmax", "I do not modify the scores"),
    ("stable_softmax", "I work on a copy, never in place"),
    ("stable_softmax", "float64 throughout, any axis, negative ones too"),
    ("split_heads", "each head gets a block of features, not interleaved"),
    ("split_heads", "heads and batch stay separate axes, (B, H, T, dh), I don't fold them into the batch"),
    ("split_heads", "I may return a view, and never write into x"),
    ("pre_ln_block", "I assume pre-LN: the norm comes before each branch"),
    ("cross_attention", "True means padding, so it is blocked"),
]


def against(name: str, text: str) -> list[Term]:
    """The terms that a text contradicts."""
    return [term for term in registry.kata(name).terms if clarify.contradicts(term, text)]


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_a_wrong_assumption_contradicts_the_term_it_is_about(name: str, text: str) -> None:
    assert clarify.find(registry.kata(name).terms, text) in against(name, text)


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_a_right_assumption_contradicts_nothing(name: str, text: str) -> None:
    assert against(name, text) == []


def test_every_kata_has_a_wrong_assumption_here() -> None:
    assert {name for name, _ in WRONG} >= {name for name in outline.names() if registry.kata(name).track == 1}


CONTRACT = {
    "almost 0": "future",
    "first step": "epsilon",
    "log V": "equally likely",
    "hundreds of steps": "learning rate",
    "validation loss": "dropout",
    "trained on": "positions",
}


@pytest.mark.parametrize(("seen", "because"), CONTRACT.items())
def test_the_symptoms_of_the_contract_are_there(seen: str, because: str) -> None:
    [symptom] = [symptom for symptom in SYMPTOMS if seen in symptom.says]
    assert because in symptom.cause.lower()


def test_symptoms_are_short_and_name_mistakes_of_the_catalogue() -> None:
    known = {mistake.name for name in outline.names() for mistake in registry.kata(name).mistakes}
    for symptom in SYMPTOMS:
        assert set(symptom.mistakes) <= known
        assert 1 <= words(symptom.cause) <= 80
        assert 1 <= words(symptom.first_test) <= 60


@pytest.mark.parametrize(
    ("mistake", "starts"),
    [("no_mask", "Training loss falls"), ("no_max_subtracted", "The loss is NaN"), ("padding_ignored", "The model")],
)
def test_a_mistake_has_the_symptom_that_it_produces(mistake: str, starts: str) -> None:
    found = for_mistakes(["unheard_of", mistake])
    assert found is not None
    assert found.says.startswith(starts)


def test_a_mistake_without_a_symptom_has_none() -> None:
    assert for_mistakes(["float64_creeps_in"]) is None
    assert for_mistakes([]) is None
