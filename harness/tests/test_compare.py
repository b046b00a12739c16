"""`kata compare` through the command line: what differs is found, measured and said; nothing else is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import outline, registry
from harness.compare import compare
from harness.judge import Judge
from harness.model import Call
from harness.sizes import Sizes, leaves, narrowed
from harness.tests.project import Project
from harness.tests.test_practice import REVERSED, events, kata, open_mock

PARTS = ("agreement", "returns", "speed", "memory", "notes", "sanity", "departure", "shapes", "pictures", "code")
MERGE = '    context = weights @ v  # (B, H, T, dh)\n    return merge_heads(context) @ params["wo"]'
LOOPS = """    B, H, T, dh = q.shape
    context = np.zeros((B, T, H * dh), q.dtype)
    for h in range(H):
        for t in range(T):
            for b in range(B):
                for s in range(t + 1):  # so much slower that no noise hides it
                    for n in range(dh):
                        context[b, t, h * dh + n] += weights[b, h, t, s] * v[b, h, s, n]
    return context @ params["wo"]"""
SCORES = "q @ k.swapaxes(-1, -2) / dh**0.5"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("compare") / "clone")


def document(project: Project, *words: str, status: int = 0) -> dict[str, Any]:
    """The JSON of a comparison."""
    found: dict[str, Any] = json.loads(kata(project, "compare", *words, "--json", status=status))
    return found


def kinds(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {note["kind"]: note for note in found["notes"]}


def line_of(path: Path, text: str) -> int:
    return 1 + next(n for n, line in enumerate(path.read_text().splitlines()) if text in line)


def test_a_reversed_mask_is_named_located_and_drawn(project: Project) -> None:
    project.solve("pre_ln_block", *REVERSED)
    shown = kata(project, "compare", "pre", "--tokens", "the cat sat")
    head, *_ = shown.split("\n\n")
    assert "FAIL" in head and "reversed_mask" in head and "mask differs" in head
    for section in ("Agreement", "Returned", "Time", "Peak memory", "Forward pass", "Shapes", "attention weights"):
        assert section in shown
    order = [shown.index(w) for w in ("Agreement", "Returned", "Time", "Forward pass", "Shapes", "attention weights")]
    assert order == sorted(order)
    assert "the   " in shown and "sat" in shown and "above the diagonal" in shown
    assert "kata hint pre_ln_block" in shown and "np.triu(np.ones" not in shown
    assert max(map(len, shown.split("attention weights")[0].splitlines())) <= 80
    found = document(project, "pre_ln_block")
    assert found["departure"]["stage"] == "mask"
    attention = {one["who"]: one["above"] for one in found["sanity"] if one["above"] is not None}
    assert attention["yours"] > 0.5 and attention["solution"] == 0
    assert found["code"] is None


@pytest.mark.parametrize("name", outline.names())
def test_a_right_answer_agrees_with_every_number_there_is(judge: Judge, name: str) -> None:
    found, _ = compare(judge, name, outline.SOLUTIONS / f"{name}.py")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["version"], found["kata"], found["verdict"], found["state"]) == (1, name, "strong", "compared")
    assert set(PARTS) <= set(found)
    assert [one["name"] for one in found["code"]] and found["notes"] == []
    assert all(one["agree"] == one["calls"] > 0 and one["relative"] == 0 for one in found["agreement"])
    assert all(one["yours"] == one["solution"] for one in found["returns"])
    assert {one["function"] for one in found["speed"]} == set(registry.kata(name).functions)
    for one in found["speed"]:
        assert one["sizes"]
        assert all(size["ratio"] > 0 and size["seconds"] > 0 and size["solution_seconds"] > 0 for size in one["sizes"])
    assert all(one["ratio"] > 0 for one in found["memory"]) and found["memory"]
    assert {one["who"] for one in found["sanity"]} == {"yours", "solution"}


@pytest.mark.parametrize("columns", [60, 120])
def test_a_right_answer_reads_well_in_any_window(project: Project, columns: int) -> None:
    project.solve("split_heads")
    shown = kata(project, "compare", "split_heads", COLUMNS=str(columns))
    assert "every answer agrees, to the last bit" in shown and "The same in both" in shown
    assert max(map(len, shown.splitlines())) <= columns


def test_loops_over_heads_tokens_and_batch_are_told_with_what_they_cost(project: Project) -> None:
    path = project.solve("pre_ln_block", (MERGE, LOOPS))
    measured = (document(project, "pre_ln_block") for _ in range(5))  # what is busy elsewhere may hide a loop once
    found = next(one for one in measured if "loop" in kinds(one))
    note = kinds(found)["loop"]
    for text, word in (("for h in", "heads"), ("for t in", "tokens"), ("for b in", "the batch")):
        assert f"{word} (line {line_of(path, text)})" in note["says"]
    assert "times slower at H = 16" in note["says"]


def test_a_lost_float32_is_pinned_on_the_expression_that_loses_it(project: Project) -> None:
    path = project.solve("pre_ln_block", ("dh**0.5", "np.sqrt(dh)"))
    found = document(project, "pre_ln_block")
    note = kinds(found)["dtype"]
    assert note["line"] == line_of(path, "np.sqrt(dh)") and note["says"].startswith("`np.sqrt(dh)`")
    single = next(one for one in found["returns"] if one["input"] == "float32")
    assert (single["yours"]["dtype"], single["solution"]["dtype"]) == ("float64", "float32")


def fortran(folder: Path) -> Path:
    """A softmax that is laid out the other way round."""
    path = folder / "stable_softmax.py"
    source = (outline.SOLUTIONS / "stable_softmax.py").read_text()
    last = "weights / np.where(total == 0, 1, total)"
    path.write_text(source.replace(f"return {last}", f"return np.asfortranarray({last})"))
    return path


def test_layout_views_writes_and_memory_are_told(project: Project, tmp_path: Path) -> None:
    project.solve("pre_ln_block", ("    return x\n", "    return np.asfortranarray(x)\n"))
    found = document(project, "pre_ln_block")
    assert {(one["yours"]["layout"], one["solution"]["layout"]) for one in found["returns"]} == {("F", "C")}
    pairs = "(q[:, :, :, None] * k[:, :, None]).sum(axis=-1) / dh**0.5"
    path = project.solve("pre_ln_block", (SCORES, pairs))
    found = document(project, "pre_ln_block")
    assert kinds(found)["memory"]["line"] == line_of(path, "None") and found["memory"][0]["ratio"] > 2
    file = tmp_path / "mine.py"
    file.write_text("def stable_softmax(scores, axis=-1):\n    scores -= 1.0\n    return scores[:]\n")
    notes = kinds(document(project, str(file), "--kata", "stable_softmax"))
    assert "modify scores" in notes["input"]["says"] and "view of scores" in notes["view"]["says"]
    assert "Fortran" in kata(project, "compare", str(fortran(tmp_path)))


@pytest.mark.parametrize(
    ("source", "word", "state"),
    [
        ("def split_heads(:\n", "SyntaxError", "broken"),
        ("import nothing_of_the_kind\n", "ModuleNotFoundError", "broken"),
        ("x = 1\n", "defines no split_heads", "broken"),
        (outline.stub("split_heads"), "NOT STARTED", "not started"),
    ],
)
def test_what_cannot_be_compared_is_said(project: Project, source: str, word: str, state: str) -> None:
    project.kata("split_heads", source)
    assert word in kata(project, "compare", "split_heads", status=1)
    assert document(project, "split_heads", status=1)["state"] == state


def test_a_file_that_raises_or_dies_is_compared_as_far_as_it_goes(project: Project) -> None:
    rest = "\n\ndef merge_heads(x):\n    raise RuntimeError('not yet')\n"
    project.kata("split_heads", f"def split_heads(x, heads):\n    raise RuntimeError('not yet'){rest}")
    shown = kata(project, "compare", "split_heads")
    assert "raised RuntimeError: not yet" in shown and "Time" not in shown
    project.kata("split_heads", f"import os\n\n\ndef split_heads(x, heads):\n    os._exit(3){rest}")
    assert "nothing to measure" in kata(project, "compare", "split_heads")
    assert document(project, "split_heads")["state"] == "ended"
    assert "no such file" in kata(project, "compare", "nowhere/split_heads.py", status=1)


def test_the_code_waits_for_a_pass_or_for_being_asked(tmp_path: Path) -> None:
    project = Project(tmp_path / "clone")
    project.solve("causal_mask", *REVERSED)
    assert "np.triu" not in kata(project, "compare", "causal_mask")
    assert not events(project, "solution")
    shown = kata(project, "compare", "causal_mask", "--code", COLUMNS="120")
    assert "solution" in shown and "np.triu(blocked, k=1)" in shown and "np.tril(blocked, k=-1)" in shown
    assert [event["shown"] for event in events(project, "solution")] == [True]
    assert "+     return np.triu(blocked, k=1)" in kata(project, "compare", "causal_mask")
    assert "left out" in kata(project, "compare", "causal_mask", "--no-code")
    assert [event["kata"] for event in events(project, "compare")] == ["causal_mask"] * 4
    assert [(event["by"], event["verdict"]) for event in events(project, "check")] == [("compare", "fail")]
    open_mock(project, "causal_mask")
    assert "a mock on causal_mask is running" in kata(project, "compare", "causal_mask", status=2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing",), "there is no kata"),
        (("other.py",), "use --kata"),
        (("causal_mask", "--tokens", ""), "1 to 16 words"),
        (("causal_mask", "--head", "-1"), "from 0"),
        (("pre_ln_block", "--head", "9"), "no head 9"),
        (("causal_mask", "--seed", "-1"), "from 0"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, words: tuple[str, ...], says: str) -> None:
    project.solve("pre_ln_block")
    assert says in kata(project, "compare", *words, status=2)


def test_hostile_code_steers_no_terminal_and_takes_no_ages(project: Project, tmp_path: Path) -> None:
    file, source = tmp_path / "causal_mask.py", (outline.SOLUTIONS / "causal_mask.py").read_text()
    file.write_text(source.replace("    return", '    x = "\x1b[2J\u202e"\n    return'))
    shown = kata(project, "compare", str(file))
    assert "\x1b" not in shown and "\u202e" not in shown and "x1b" in shown
    file.write_text(f"{source}\nLONG = '{'x' * 100_000}'\n")
    assert "too long to set beside" in kata(project, "compare", str(file))


@pytest.mark.parametrize(
    ("name", "function"), [(name, function) for name in outline.names() for function in outline.outline(name).functions]
)
def test_calls_of_any_size_are_taken_by_the_solution(name: str, function: str) -> None:
    sizes = Sizes(name, function)
    run = getattr(registry.solution(name).reference(), function)
    for options in ({"tokens": 1}, {"tokens": 40}, {"tokens": 9, "batch": 5}, {"tokens": 9, "heads": 16}):
        call = sizes.call(**options)
        if call is None and options["tokens"] == 1:  # a single token may have nothing to be scored on
            continue
        assert call is not None
        run(*call.args)
        shapes = [n for _, value in leaves(call.args) for n in value.shape]
        assert not sizes.grows or options["tokens"] in (*shapes, *call.args[:1])
        assert not sizes.batch or options.get("batch", shapes[0]) == shapes[0]
    assert all(value.dtype != np.float64 for _, value in leaves(narrowed(sizes.base).args))


def test_a_table_that_is_too_short_grows_with_the_tokens() -> None:
    call = Sizes("tied_logits", "embed").call(512)
    assert isinstance(call, Call)
    ids, tokens, positions = call.args
    assert ids.shape[1] == 512 <= positions.shape[0] and ids.max() < tokens.shape[0] < 512


TOY_CHECKS = '''"""Toy stack: hidden checks."""

from __future__ import annotations

from harness import expect
from harness.kata import Kata

KATA = Kata(track=2, minutes=5, functions=("toy_stack",))


@KATA.core
def values(submission, reference, rng):
    """the values are right"""
    sizes = [(2, 3, 4, 7, 9), (1, 2, 6, 5, 4), (3, 4, 5, 8, 6)]
    cases = []
    for B, T, d, V, most in sizes:
        layers = [{"w": rng.normal(size=(d, d))} for _ in range(2)]
        tables = {"tokens": rng.normal(size=(V, d)), "positions": rng.normal(size=(most, d)), "layers": layers}
        cases.append((rng.integers(0, V, (B, T)), tables))
    for call, answer in submission.toy_stack.each(cases):
        x, mean = reference.toy_stack(*call.args)
        expect.same(call, answer._replace(value=answer.value[0]), x)
'''
TOY = '''"""Toy stack · 5 minutes

Write `toy_stack(ids, params)`.
"""

import numpy as np


def toy_stack(ids: np.ndarray, params: dict) -> np.ndarray:
    T = ids.shape[1]
    if T > len(params["positions"]):
        raise ValueError("too long")
    x = params["tokens"][ids] + params["positions"][:T]
    for layer in params["layers"]:
        x = x @ layer["w"]
    return x, float(x.mean())
'''


def test_a_kata_that_is_added_later_is_compared_as_well(tmp_path: Path) -> None:
    """Nested parameters, ids, a short table, two results, and a loop over layers that is the solution's own."""
    project = Project(tmp_path / "clone")
    (project.folder / "harness" / "checks" / "toy_stack.py").write_text(TOY_CHECKS)
    (project.folder / "solutions" / "toy_stack.py").write_text(TOY)
    project.kata("toy_stack", TOY)
    found = document(project, "toy_stack")
    assert found["verdict"] == "strong" and found["notes"] == []
    assert [one["function"] for one in found["agreement"]] == 2 * ["toy_stack[0]", "toy_stack[1]"]
    [speed] = found["speed"]
    assert [size["tokens"] for size in speed["sizes"]] == [32, 128, 512]
    assert all(size["ratio"] > 0 for size in speed["sizes"])


def test_a_layer_can_be_chosen_where_there_are_several(project: Project) -> None:
    project.solve("gpt_forward", ("k=1)", "k=2)"))
    shown = kata(project, "compare", "gpt_forward", "--layer", "1", "--head", "0", "--tokens", "the cat sat")
    assert "attention weights of layer 1, head 0" in shown and "head 1" not in shown
    assert "cat" in shown
    project.solve("pre_ln_block")
    assert "no layers to choose from" in kata(project, "compare", "pre_ln_block", "--layer", "1", status=2)
    assert "2 layers, 0 to 1" in kata(project, "compare", "gpt_forward", "--layer", "9", status=2)
