"""The visible examples: read from the prompt, true, and tried on a submission."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from harness import outline, registry, stubs
from harness.examples import examples, trial
from harness.judge import Judge, Session

Open = Callable[[str, str], Session]
REVERSED = "import numpy as np\ndef causal_mask(length):\n    return np.tril(np.ones((length, length), bool), -1)\n"


@pytest.fixture
def opened(judge: Judge) -> Iterator[Open]:
    sessions: list[Session] = []

    def run(name: str, source: str) -> Session:
        sessions.append(judge.open(Path(f"{name}.py"), source.encode(), name, registry.wanted(name)))
        return sessions[-1]

    yield run
    for session in sessions:
        session.close()


@pytest.mark.parametrize("name", outline.names())
def test_every_prompt_shows_examples_and_they_are_true(name: str) -> None:
    assert {example.call.function for example in examples(name)} == set(registry.kata(name).functions)
    solution = registry.solution(name)
    scope = vars(solution.reference())
    shown = doctest.DocTestParser().get_doctest(stubs.prompt(solution.source), scope, name, None, None)
    assert doctest.DocTestRunner(verbose=False).run(shown) == (0, len(shown.examples))


@pytest.mark.parametrize("name", outline.names())
def test_the_solution_answers_every_example(name: str, opened: Open) -> None:
    tried = trial(opened(name, registry.solution(name).source), name)
    assert [(example.source, said) for example, said in tried if said] == []
    assert len(tried) == len(examples(name)) >= 1


@pytest.mark.parametrize("name", outline.names())
def test_a_stub_is_not_implemented(name: str, opened: Open) -> None:
    for example, said in trial(opened(name, outline.stub(name)), name):
        assert said == f"{example.call.function} is not implemented yet"


def test_a_call_is_recorded_by_itself_with_its_keywords_in_place() -> None:
    example, *_ = examples("pre_ln_block")
    assert example.source == "pre_ln_block(x, params, heads=1).round(3)"
    assert example.call.names == ("x", "params", "heads")
    assert example.call.args[2:] == (1,)
    _, axis = examples("stable_softmax")
    assert axis.call.args[1:] == (0,)


def test_a_call_inside_another_is_recorded_once() -> None:
    split, merge = examples("split_heads")
    assert (split.call.function, merge.call.function) == ("split_heads", "merge_heads")
    assert merge.source == "merge_heads(split_heads(x, 2))"
    assert np.shape(merge.call.args[0]) == (1, 2, 2, 2)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (REVERSED, "causal_mask(3)[0, 1] is False, should be True"),
        ("def causal_mask(length):\n    return 1 / 0\n", "causal_mask(3) raised ZeroDivisionError: division by zero"),
        ("def causal_mask(length):\n    pass\n", "causal_mask(3) is None: is its return missing?"),
        ("import numpy as np\n", "the file defines no causal_mask"),
        ("causal_mask = (", "SyntaxError: '(' was never closed"),
        ("def causal_mask(a, b):\n    pass\n", "causal_mask"),
        ("import os\ndef causal_mask(length):\n    os._exit(3)\n", "the process ended (exit status 3) in causal_mask"),
    ],
    ids=["reversed", "raises", "none", "missing", "syntax", "misfit", "dead"],
)
def test_what_is_wrong_is_said_in_one_line(source: str, says: str, opened: Open) -> None:
    [(_, said)] = trial(opened("causal_mask", source), "causal_mask")
    assert says in said
    assert "\n" not in said


def test_a_session_that_died_says_so_again(opened: Open) -> None:
    session = opened("causal_mask", "import os\ndef causal_mask(length):\n    os._exit(3)\n")
    first, second = trial(session, "causal_mask"), trial(session, "causal_mask")
    assert "exit status 3" in first[0][1]
    assert "exit status 3" in second[0][1]
