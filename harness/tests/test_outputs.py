"""Answers of several parts, plain numbers, caches and generators: through the worker, in messages, in recognition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import expect, matching, wire
from harness.judge import Judge, Session
from harness.model import Answer, Call, Signature, Wrong

SIGNATURES = {
    "step": Signature("step(x, cache)", ("x", "cache"), 2),
    "loss": Signature("loss(x)", ("x",), 1),
    "draw": Signature("draw(x, rng=None)", ("x", "rng"), 1),
    "deep": Signature("deep(params)", ("params",), 1),
}
SOURCE = """
import numpy as np

class Cache:
    def __init__(self, kept=()):
        self.kept = list(kept)

def new(kept):
    return {cache}

def old(cache):
    return {kept}

def step(x, cache):
    kept = [*(old(cache) if cache is not None else []), x]
    return {wrong}, new(kept)

def loss(x):
    return x.mean()

def draw(x, rng=None):
    return x + rng.integers(0, 1000, x.shape)

def deep(params):
    params["layers"][1]["w"] += 1
    return params["layers"][1]["w"].copy()
"""
CACHES = {
    "dict": ('{"rows": kept}', 'cache["rows"]'),
    "list": ("kept", "cache"),
    "tuple": ("(len(kept), np.stack(kept))", "list(cache[1])"),
    "class": ("Cache(kept)", "cache.kept"),
    "function": ("lambda: kept", "cache()"),
}
Open = Callable[..., Session]


class Reference:
    """What is right, for a cache of its own kind."""

    def step(self, x: Any, cache: Any) -> Any:
        rows = (*(cache or ()), x)
        return sum(rows), rows

    def loss(self, x: Any) -> float:
        return float(x.mean())


class Forgetful(Reference):
    """A mistake that shows from the second step on."""

    def step(self, x: Any, cache: Any) -> Any:
        return x, (x,)


@pytest.fixture
def opened(judge: Judge, tmp_path: Path) -> Iterator[Open]:
    sessions: list[Session] = []

    def run(cache: str = "list", wrong: str = "sum(kept)") -> Session:
        make, read = CACHES[cache]
        source = SOURCE.format(cache=make, kept=read, wrong=wrong).encode()
        sessions.append(judge.open(tmp_path / "any.py", source, "any", SIGNATURES).loaded())
        assert sessions[-1].broken is None
        return sessions[-1]

    yield run
    for session in sessions:
        session.close()


def steps(session: Session, count: int = 3) -> list[tuple[Call, Any]]:
    """Calls of `step`, each with the cache of the one before."""
    found: list[tuple[Call, Any]] = []
    cache = None
    for n in range(count):
        [(call, answer)] = session.step.each([(np.full(2, n + 1.0), cache)])
        found.append((call, answer))
        cache = wire.Carried(answer.value[1], call, 1)
    return found


@pytest.mark.parametrize("kind", CACHES)
def test_a_cache_of_any_kind_finds_its_way_back(kind: str, opened: Open) -> None:
    values = [answer.value[0].tolist() for _, answer in steps(opened(kind))]
    assert values == [[1, 1], [3, 3], [6, 6]]


@pytest.mark.parametrize("kind", CACHES)
def test_two_continuations_of_one_cache_are_apart(kind: str, opened: Open) -> None:
    session = opened(kind)
    (_, _), (call, answer) = steps(session, 2)
    cache = wire.Carried(answer.value[1], call, 1)
    again = [session.step(np.full(2, 10.0), cache)[0].tolist() for _ in range(2)]
    assert again == [[13, 13], [13, 13]]


def test_a_mistake_in_a_later_step_is_recognised_with_caches_of_another_kind(opened: Open) -> None:
    session = opened("class", wrong="x")
    steps(session)
    wrong, sound = matching.judged(Reference(), session.records)
    assert (len(wrong), len(sound)) == (2, 1)
    assert matching.fit(Forgetful(), wrong).match == "values"
    assert matching.fit(Reference(), wrong).match == "contradicts"
    assert matching.is_sound(Forgetful(), sound)


def test_a_message_says_which_part_and_where_the_cache_comes_from(opened: Open) -> None:
    call, answer = steps(opened(wrong="x"), 2)[1]
    with pytest.raises(Wrong) as caught:
        expect.same(call, answer, (np.array([1.0, 3.0]), None))
    assert caught.value.says == "step(x, cache)[0][0] is 2.0, should be 1.0"
    assert "[0] is the first of what step returns." in caught.value.shows
    assert caught.value.shows[-1].endswith("cache: what step(x, None) returned")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ((np.zeros(2), np.zeros(2)), "f(1)[1] has shape (2,), should be (2, 2)"),
        ((np.zeros(2), np.zeros((2, 2), int)), "f(1)[1] has dtype int64, should be float64"),
        ((np.zeros(2), None), "f(1)[1] is of type NoneType, should be a numpy.ndarray of shape (2, 2)"),
        (np.zeros(2), "f(1) is of type ndarray, should be a tuple of 2"),
        ((np.zeros(2),), "f(1) is a tuple of 1, should be a tuple of 2"),
        (None, "f(1) is None: is its return missing?"),
        ((np.zeros(2), np.full((2, 2), np.nan)), "f(1)[1][0, 0] is nan, should be 0.0"),
    ],
)
def test_a_tuple_that_is_wrong_is_told(value: Any, says: str) -> None:
    with pytest.raises(Wrong) as caught:
        expect.same(Call("f", (1,)), Answer(value), (np.zeros(2), np.zeros((2, 2))))
    assert caught.value.says == says


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.array(0.5), np.array([0.5]), np.float32(0.5)])
def test_a_float_may_be_any_single_number(value: Any) -> None:
    expect.same(Call("f", ()), Answer(value), 0.5)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.25, "f() is 0.25, should be 0.5"),
        (np.zeros(3), "f() has shape (3,), should be a single number"),
        ("0.5", "f() is of type str, should be a float"),
        (float("nan"), "f() is nan, should be 0.5"),
    ],
)
def test_a_float_that_is_wrong_is_told(value: Any, says: str) -> None:
    with pytest.raises(Wrong) as caught:
        expect.same(Call("f", ()), Answer(value), 0.5)
    assert caught.value.says == says


def test_a_number_is_evidence(opened: Open) -> None:
    session = opened()
    session.loss(np.arange(4.0))
    _, [e] = matching.judged(Reference(), session.records)
    assert e.right == e.answer.value == 1.5


def test_each_call_gets_a_generator_in_the_state_that_the_caller_holds(opened: Open) -> None:
    session, rng = opened(), np.random.default_rng(5)
    first, second = (answer.value.tolist() for _, answer in session.draw.each([(np.zeros(4), rng)] * 2))
    assert first == second == rng.integers(0, 1000, 4).tolist()
    assert session.draw(np.zeros(4), rng).tolist() != first


def test_what_is_written_into_nested_params_is_named(opened: Open) -> None:
    params = {"layers": [{"w": np.ones(2)}, {"w": np.ones(2)}]}
    [(call, answer)] = opened().deep.each([(params,)])
    assert answer.changed == ('params["layers"][1]["w"]',)
    with pytest.raises(Wrong) as caught:
        raise expect.wrong(call, answer, " is wrong")
    assert caught.value.says == "deep(params) is wrong"
    assert caught.value.shows == ("params: layers 2 x [w (2,)]",)
