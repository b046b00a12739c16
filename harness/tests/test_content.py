"""What an interviewer says is complete, short, consistent with the catalogue, and true of the solutions."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pytest

from harness import clarify, outline, probe, registry
from harness.calls import Calls, Remembered
from harness.kata import Term
from harness.model import Answer, Call, Submission
from harness.recorder import called
from harness.symptoms import SYMPTOMS, for_mistakes
from harness.tests.test_scalar import solution

Shape = tuple[int, ...]
EACH_KATA = pytest.mark.parametrize("name", outline.names())
CODE = re.compile(r"\bnp\.|\bdef |\bimport |\breturn |\)\s*=[^=]|==|\w=\w|\blambda\b|\w+\.\w+\(")


def words(text: str) -> int:
    return len(text.split())


class Watched(Submission):
    """A solution as a submission in this process; `seen` has the shapes of its local arrays, call by call."""

    def __init__(self, name: str) -> None:
        self.signatures, self.seen = registry.wanted(name), list[dict[str, set[Shape]]]()
        self._file, self._functions = f"<{name}>", solution(name)

    def ask(self, calls: Sequence[Call]) -> list[Answer]:
        return [Answer(self._watched(call)) for call in calls]

    def _watched(self, call: Call) -> Any:
        shapes: dict[str, set[Shape]] = {}

        def watch(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_code.co_filename != self._file:
                return None
            for local, value in frame.f_locals.items():
                if isinstance(value, np.ndarray):
                    shapes.setdefault(local, set()).add(value.shape)
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            return called(self._functions, call)
        finally:
            sys.settrace(before)
            self.seen.append(shapes)


def seen_in_checks(name: str) -> list[dict[str, set[Shape]]]:
    """The shapes of a solution's local arrays in each call that its core checks make."""
    watched, reference = Watched(name), Remembered(solution(name), registry.wanted(name), Calls())
    for check in (check for check in registry.kata(name).checks if check.level == "core"):
        with suppress(Exception):  # a check of what only a process shows
            check.function(watched, reference, probe.generator(0, name, check.name))
    return watched.seen


def sized(declared: Sequence[tuple[str, set[Shape]]], sizes: dict[str, int]) -> dict[str, int] | None:
    """Sizes of the letters that make every declared shape one that was seen; None where there are none."""
    if not declared:
        return sizes
    (text, shapes), *rest = declared
    letters = re.findall(r"\w+", text)
    for shape in shapes:
        bound = sizes | {letter: n for letter, n in zip(letters, shape, strict=False) if not letter.isdigit()}
        same = len(letters) == len(shape) and bound.items() >= sizes.items()
        if same and tuple(bound.get(letter) or int(letter) for letter in letters) == shape:
            found = sized(rest, bound)
            if found:
                return found
    return None


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
    kata = registry.kata(name)
    terms = kata.terms
    for term in terms:
        assert clarify.find(terms, term.asks) is term
        assert clarify.heard(kata, term.asks) is term
        assert not [other.topic for other in terms if clarify.contradicts(other, term.answer)]


@EACH_KATA
def test_a_fact_is_recognised_by_its_own_question_and_contradicts_no_term(name: str) -> None:
    kata = registry.kata(name)
    assert len({fact.topic for fact in kata.facts}) == len(kata.facts)
    for fact in kata.facts:
        assert clarify.heard(kata, fact.asks) in (fact, *kata.terms)  # a term of the kata may say the same
        assert 1 <= words(fact.answer) <= 40
        assert not [term.topic for term in kata.terms if clarify.contradicts(term, fact.answer)]


@EACH_KATA
def test_the_narrated_shapes_are_true(name: str) -> None:
    """Some calls have the declared shapes, and between them no two letters always have one size."""
    declared, found = registry.kata(name).shapes, defaultdict[frozenset[str], list[dict[str, int]]](list)
    assert declared
    for seen in seen_in_checks(name):
        here = frozenset(declared.keys() & seen.keys())
        if sizes := sized([(declared[local], seen[local]) for local in sorted(here)], {}):
            found[here].append(sizes | {"1": 1})
    told = {
        local
        for here, each in found.items()
        for local in here
        if all(any(sizes[a] != sizes[b] for sizes in each) for a, b in combinations(each[0], 2))
    }
    assert told == declared.keys()


WRONG = [
    ("causal_mask", "I take it that True means keep."),
    ("causal_mask", "1 = may be seen, 0 = masked"),
    ("causal_mask", "True marks the positions that can be attended to"),
    ("causal_mask", "I assume that the diagonal is blocked"),
    ("causal_mask", "a token doesn't attend to itself"),
    ("causal_mask", "True where j >= i"),
    ("causal_mask", "I return an additive mask of 0 and -inf"),
    ("causal_mask", "True where one may look"),
    ("causal_mask", "I assume one mask per head"),
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
    ("layer_norm", "eps is added to the std"),
    ("layer_norm", "I normalise over the batch"),
    ("feed_forward", "I add the residual"),
    ("positions", "sines in the first half, cosines in the second"),
    ("positions", "positions start from 1"),
    ("padding_mask", "1 for real tokens, 0 for padding"),
    ("padding_mask", "padded queries are blocked too"),
    ("encoder_decoder", "the generator returns raw logits"),
    ("encoder_decoder", "in memory_blocked, True means keep"),
    ("encoder_decoder", "I use post-norm, as in the paper"),
    ("encoder_decoder", "the feed-forward has a GELU"),
]
RIGHT = [
    ("causal_mask", "I assume True means blocked, and that the query may not see the key there."),
    ("causal_mask", "False where one may look, True where one must not"),
    ("causal_mask", "one mask for all heads"),
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
    ("layer_norm", "gamma scales and beta shifts, over the last axis"),
    ("feed_forward", "no residual, tanh GELU, both biases"),
    ("positions", "sine and cosine interleaved, from position 0"),
    ("padding_mask", "I block padded keys, not queries"),
    ("encoder_decoder", "pre-norm before each sublayer, ReLU, and a final norm after the stack"),
    ("encoder_decoder", "the generator returns log-probabilities, not logits"),
    ("encoder_decoder", "the memory comes normalised, and I don't normalise the memory again"),
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
