"""Machine-made mistakes: there are many, each is a change, and each is told by the checks or has a reason to live."""

from __future__ import annotations

import ast

import pytest

from harness import mutate, outline, registry

SIX = tuple(name for name in outline.names() if registry.kata(name).track == 1)
SHARE = 6  # all of them take most of a minute: `kata verify --mutants`


def test_the_six_give_hundreds_of_different_mutants() -> None:
    sources = [mutant.source for name in SIX for mutant in mutate.made(name)]
    assert len(set(sources)) == len(sources) >= 500


def test_no_two_are_the_same_code_and_none_is_the_solution() -> None:
    trees = [ast.dump(ast.parse(mutant.source)) for mutant in mutate.made("stable_softmax")]
    assert len({*trees, ast.dump(ast.parse(registry.solution("stable_softmax").source))}) == len(trees) + 1


def test_a_mutant_is_the_solution_but_for_one_place() -> None:
    solution = registry.solution("causal_mask").source
    for mutant in mutate.made("causal_mask"):
        assert solution.count(mutant.line) == 1
        assert mutant.source == solution.replace(mutant.line, mutant.became) or mutant.became == "pass"


@pytest.mark.parametrize(
    ("name", "line", "became"),
    [
        ("causal_mask", "return np.triu(blocked, k=1)", "return np.tril(blocked, k=1)"),
        ("stable_softmax", "total = weights.sum(axis=axis, keepdims=True)", "total = weights.sum(axis=axis)"),
        ("pre_ln_block", 'q = split_heads(x @ params["wq"], heads)', "q = split_heads(x @ params['wk'], heads)"),
        ("pre_ln_block", "context = weights @ v", "context = v @ weights"),
        ("cross_attention", "return x + projected", "return x - projected"),
        ("tied_logits", "positions = position_embedding[:T]", "positions = position_embedding[:T - 1]"),
    ],
)
def test_the_usual_slips_are_among_them(name: str, line: str, became: str) -> None:
    assert (name, line, became) in {mutant.key for mutant in mutate.made(name)}


def test_none_lives_without_a_reason() -> None:
    tried = list(mutate.mutants(SIX, jobs=2, share=SHARE))
    assert [problem for one in tried for problem in one.unexplained] == []
    assert all(one.made == one.core + one.follow_up + one.equal and one.core for one in tried)


def test_what_is_listed_wrongly_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: mutate.Key = ("causal_mask", "return np.triu(blocked, k=1)", "return np.tril(blocked, k=1)")
    gone: mutate.Key = ("causal_mask", "return blocked", "pass")
    monkeypatch.setattr(mutate, "listed", lambda: {told: "alive", gone: "alive"})
    [one] = mutate.mutants(["causal_mask"])
    words = " ".join(one.unexplained)
    assert "return blocked -> pass: is listed, and is no mutant" in words
    assert "np.tril(blocked, k=1): told by the core checks, should be alive" in words
    assert "np.ones((length,), dtype=bool): alive, should be told by the core checks" in words
    assert one.line().endswith("4 unexplained")
