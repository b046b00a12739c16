"""Planted mistakes: the code looks as if it worked, fails, says nothing of where, and knows when it is mended."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness import outline, outputs, plant, registry
from harness.examples import examples
from harness.model import Call
from harness.plant import Pick, left, picks, planted
from harness.tests.conftest import Grade
from harness.wire import Carried

SEEDS = range(3)
TELLING = re.compile(
    r"future|normed|projected|blocked|masked|\bif (True|False)\b|\bpass\b|__import__|#"
    r"|[+-] 0\b(?!\.)|(?<![.\w])0 \*(?!\*)"
)


@cache
def room(name: str) -> int:
    for count in range(1, plant.MOST + 1):
        try:
            picks(name, count, random.Random(0))
        except ValueError:
            return count - 1
    return plant.MOST


@cache
def mixture(name: str, count: int, seed: int) -> tuple[Pick, ...]:
    return picks(name, count, random.Random(seed))


def run(source: str) -> SimpleNamespace:
    scope: dict[str, object] = {}
    exec(compile(source, "<planted>", "exec"), scope)
    return SimpleNamespace(**scope)


def functions(source: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


MIXTURES = [(name, count, seed) for name in outline.names() for count in range(1, room(name) + 1) for seed in SEEDS]
every_mixture = pytest.mark.parametrize(("name", "count", "seed"), MIXTURES)


@every_mixture
def test_the_code_defines_the_functions_and_says_nothing(name: str, count: int, seed: int) -> None:
    source = planted(name, mixture(name, count, seed))
    tree = ast.parse(source)
    defined, solution = functions(source), functions(registry.solution(name).source)
    for function in registry.kata(name).functions:
        assert ast.dump(defined[function].args) == ast.dump(solution[function].args)
    assert not any(ast.get_docstring(node) for node in defined.values())
    own = {arg.arg for node in ast.walk(tree) if isinstance(node, ast.arguments) for arg in node.args}
    assert {found[0] for found in TELLING.finditer(re.sub(rf"\b({'|'.join(own)})\b", "", source))} == set()
    assert max(map(len, source.splitlines())) <= 120


@every_mixture
def test_each_planted_mistake_is_known_until_it_is_mended(name: str, count: int, seed: int) -> None:
    chosen = mixture(name, count, seed)
    names = tuple(which for which, _ in chosen)
    assert len(set(names)) == count
    source = planted(name, chosen)
    assert left(name, chosen, source.encode()) == names
    assert left(name, chosen, planted(name, ()).encode()) == ()
    for pick in chosen:
        others = [other for other in chosen if other != pick]
        assert left(name, chosen, planted(name, others).encode()) == tuple(which for which, _ in others)


@every_mixture
def test_layout_comments_and_other_edits_do_not_matter(name: str, count: int, seed: int) -> None:
    chosen = mixture(name, count, seed)
    text = planted(name, chosen)
    edited = re.sub(r"(\) -> .*:)\n", r'\1\n    """What I think."""\n    print("here")  # a look\n\n', text)
    edited = '"""Mine."""\n' + edited.replace("'", '"' if "f'" not in text else "'") + "\n\ndef more():\n    return x\n"
    edited = edited.replace(" = ", "  =  \\\n    ").replace("    ", "\t")
    assert left(name, chosen, edited.encode()) == tuple(which for which, _ in chosen)


@pytest.mark.parametrize("name", outline.names())
def test_a_file_that_does_not_parse_has_every_mistake_left(name: str) -> None:
    chosen = mixture(name, 1, 0)
    for source in (b"def (", b"\0", b"\xff", b"(" * 5000):
        assert left(name, chosen, source) == (chosen[0][0],)


def answer(functions: Any, call: Call) -> Any:
    """What functions answer; what an earlier call gave they give themselves."""
    args = (answer(functions, arg.call)[arg.part] if isinstance(arg, Carried) else arg for arg in call.args)
    return getattr(functions, call.function)(*args)


@pytest.mark.parametrize("name", outline.names())
def test_planted_code_looks_right_on_the_examples(name: str) -> None:
    reference = registry.solution(name).reference()
    for count, seed in product(range(1, min(3, room(name)) + 1), SEEDS):
        mine = run(planted(name, mixture(name, count, seed)))
        for example in examples(name):
            right = answer(reference, example.call)
            got = outputs.parts(answer(mine, example.call), right) or []
            assert [a.shape for a in got] == [a.shape for a in outputs.wanted(right)]
            assert all(np.isfinite(a).all() for a in got)


@pytest.mark.parametrize("name", outline.names())
def test_a_seed_draws_the_same_and_others_draw_others(name: str) -> None:
    count = min(2, room(name))
    assert picks(name, count, random.Random(5)) == picks(name, count, random.Random(5))
    assert len({frozenset(picks(name, count, random.Random(seed))) for seed in range(20)}) > 5


@pytest.mark.parametrize("name", outline.names())
def test_faults_are_drawn_before_conventions(name: str) -> None:
    kinds = {mistake.name: (mistake.kind, mistake.level) for mistake in registry.kata(name).mistakes}
    drawn = {which for seed in range(20) for which, _ in picks(name, 1, random.Random(seed))}
    assert {kinds[which] for which in drawn} == {("fault", "core")}


def test_a_kata_says_how_many_mistakes_it_has_room_for() -> None:
    assert room("pre_ln_block") == room("cross_attention") == 4
    with pytest.raises(ValueError, match=r"^causal_mask has room for 2 mistakes$"):
        picks("causal_mask", 3, random.Random(0))
    with pytest.raises(ValueError, match=r"^pre_ln_block has room for 4 mistakes$"):
        picks("pre_ln_block", 5, random.Random(0))


GRADED = [(name, count, seed) for name, count, seed in MIXTURES if seed == count]


@pytest.mark.parametrize(("name", "count", "seed"), GRADED)
def test_planted_code_fails_through_the_door_and_loads(name: str, count: int, seed: int, grade_text: Grade) -> None:
    report = grade_text(name, planted(name, mixture(name, count, seed)))
    assert report.verdict == "fail"
    assert {"passed", "failed"} <= {o.outcome for o in report.outcomes} <= {"passed", "failed"}


@pytest.mark.parametrize("name", outline.names())
def test_code_with_nothing_planted_is_the_solution(name: str, grade_text: Grade) -> None:
    assert grade_text(name, planted(name, ())).verdict == "strong"
