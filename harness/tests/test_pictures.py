"""The heat maps: as data, as text in 80 columns without colour, as SVG, and what is drawn of a submission."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from harness import gallery, outline, pictures, registry, svg
from harness.judge import Judge
from harness.pictures import Picture, picture
from harness.wire import Array

FUTURE = np.triu(np.ones((3, 3), bool), k=1)
REVERSED = ("np.triu(np.ones((T, T), dtype=bool), k=1)", "np.tril(np.ones((T, T), dtype=bool), k=-1)")
HOSTILE = ("<script>alert(1)</script>", "\x00\x1b[31m", "שלום", "🙂🙂", "a" * 100_000, "'\"&")


def attention(T: int, S: int) -> Array:
    weights = np.random.default_rng(T).random((T, S))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def drawn(judge: Judge, name: str, source: str, **options: Any) -> list[Picture]:
    session = judge.open(Path(f"/nowhere/{name}.py"), source.encode(), name, registry.wanted(name)).loaded()
    try:
        return gallery.gallery(name, session, **options)
    finally:
        session.close()


def solution(name: str, *patches: tuple[str, str]) -> str:
    source = registry.solution(name).source
    for old, new in patches:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


def test_a_mask_is_drawn_beside_the_expected_one() -> None:
    shown = picture("mask", "causal_mask", FUTURE.T, FUTURE, ["the", "cat", "sat"])
    assert pictures.text(shown) == "\n".join(
        [
            "causal_mask: query 0 'the' sees key 1 'cat', should not see it",
            "yours                should be",
            "     the  cat  sat        the  cat  sat",
            "the    # [  !]   !   the    #    .    .",
            "cat    o    #    !   cat    #    #    .",
            "sat    o    o    #   sat    #    #    #",
            "query down, key across; # sees, . is blocked, ! must not see, o should see, []",
            "is the first",
        ]
    )


def test_a_weight_that_should_be_nothing_is_named_first() -> None:
    want = np.tril(attention(4, 4))
    got = want.copy()
    got[1, 0], got[2, 3] = 0.9, 0.21
    shown = picture("weights", "head 0", got, want)
    assert shown["first"] == [2, 3]
    assert shown["says"] == "query 2 gives key 3 a weight of 0.21, should be 0"
    lines = pictures.text(shown).splitlines()
    assert "[:: .21]" in lines[5]
    assert "!## .90" in lines[4]


def test_two_weights_that_look_alike_are_told_apart() -> None:
    shown = picture("weights", "head 0", np.array([[0.5 + 1e-7]]), np.array([[0.5]]))
    assert shown["says"].startswith("query 0 gives key 0 a weight of 0.5000001")


@pytest.mark.parametrize("tokens", [(), HOSTILE * 3, ["a long word"] * 16], ids=["none", "hostile", "long"])
@pytest.mark.parametrize("kind", ["mask", "weights", "influence"])
def test_the_text_is_ascii_in_80_columns(kind: Any, tokens: Sequence[str]) -> None:
    for T, S in [(1, 1), (3, 3), (2, 7), (8, 8), (9, 9), (16, 16), (40, 40)]:
        want = attention(T, S) if kind == "weights" else attention(T, S) > 1 / S
        got = want[::-1].copy()
        for yours in (got, None, got[:1, :1]):
            text = pictures.text(picture(kind, "a title", yours, want, tokens))
            lines = text.splitlines()
            assert text.isascii()
            assert max(map(len, lines)) <= 80, (T, S)
            assert len(lines) <= 2 * 18 + 4


def test_what_cannot_be_drawn_is_said_and_the_expected_one_is_shown() -> None:
    shown = picture("mask", "causal_mask", np.zeros((3, 4), bool), FUTURE)
    assert shown["yours"] is None
    assert "yours is (3, 4) of bool, should be (3, 3) of bool" in pictures.text(shown)
    assert "should be" in pictures.text(shown).splitlines()[1]


def test_the_data_is_json_whatever_the_values() -> None:
    got = np.array([[np.nan, np.inf], [-np.inf, 1e300]])
    shown = picture("weights", "head 0", got, np.eye(2))
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["yours"] == [["nan", "inf"], ["-inf", 1e300]]
    assert re.search(r"\[ *\?\? +inf\]", pictures.text(shown))


def test_a_reversed_mask_shows_in_every_picture_of_the_block(judge: Judge) -> None:
    found = drawn(judge, "pre_ln_block", solution("pre_ln_block", REVERSED), tokens=["the", "cat", "sat"])
    assert [shown["kind"] for shown in found] == ["weights", "weights", "influence"]
    for shown in found:
        assert shown["first"] == [0, 1]
        assert shown["rows"] == shown["columns"] == ["the", "cat", "sat"]
        assert "'the'" in shown["says"] and "'cat'" in shown["says"]
    yours = np.array(found[0]["yours"], float)
    assert np.allclose(yours.sum(axis=1), 1)
    assert (np.tril(yours, -1) == 0).all()


@pytest.mark.parametrize("name", outline.names())
def test_a_solution_is_as_it_should_be(judge: Judge, name: str) -> None:
    for shown in drawn(judge, name, solution(name)):
        assert (shown["first"], shown["says"]) == (None, "as it should be")
        assert shown["yours"] == shown["expected"] or shown["kind"] == "weights"


def test_cross_attention_has_rows_of_tokens_and_columns_of_memory(judge: Judge) -> None:
    *weights, rows, memory = drawn(judge, "cross_attention", solution("cross_attention"), tokens=["cat", "sat"])
    assert len(weights) == 2
    assert {len(shown["columns"]) for shown in weights} == {len(memory["columns"])}
    assert weights[0]["rows"] == rows["rows"] == ["cat", "sat"]
    assert weights[0]["columns"][0] == "0"
    assert [row[0] for row in memory["expected"]] == [False, False]  # its padding


@pytest.mark.parametrize("length", [2, 3, 4, 5, 9])
def test_a_mask_of_another_length_is_passed_over(judge: Judge, length: int) -> None:
    tokens = [f"t{n}" for n in range(length)]
    source = solution("multi_head_attention")
    *weights, rows = drawn(judge, "multi_head_attention", source, tokens=tokens)
    assert len(weights) >= 2
    assert {shown["says"] for shown in weights} == {rows["says"]} == {"as it should be"}
    assert weights[0]["rows"] == weights[0]["columns"] == tokens


def test_one_head_alone_and_one_that_there_is_not(judge: Judge) -> None:
    source = solution("pre_ln_block")
    [one, _] = drawn(judge, "pre_ln_block", source, head=1)
    assert one["title"] == "attention weights of head 1"
    with pytest.raises(gallery.NoSuch, match="there is no head 2: pre_ln_block is shown with 2 heads, 0 to 1"):
        drawn(judge, "pre_ln_block", source, head=2)


def test_weights_that_no_variable_holds_are_not_made_up(judge: Judge) -> None:
    one_line = ("    weights = softmax(scores)\n    context = weights @ v", "    context = softmax(scores) @ v")
    inside = ("    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n", "    scores = scores * 0\n")
    broken = ("    return weights / weights.sum(axis=-1, keepdims=True)", "    return scores[..., :1]")
    head, *_ = drawn(judge, "pre_ln_block", solution("pre_ln_block", one_line, inside, broken))
    assert head["yours"] is None
    assert head["says"].startswith("no variable of yours held the weights")


@pytest.mark.parametrize(
    "body", ["raise TypeError('no')", "return None", "return 0 * x + np.nan", "import os; os._exit(3)"]
)
def test_code_that_gives_nothing_to_draw_is_survived(judge: Judge, body: str) -> None:
    source = f"import numpy as np\n\n\ndef pre_ln_block(x, params, heads):\n    {body}\n"
    for shown in drawn(judge, "pre_ln_block", source):
        assert shown["yours"] is None
        assert shown["says"] != "as it should be"


def test_a_mask_of_another_dtype_is_drawn_as_the_mask_that_it_is(judge: Judge) -> None:
    source = "import numpy as np\n\n\ndef causal_mask(length):\n    return np.triu(np.ones((length, length)), 1)\n"
    [shown] = drawn(judge, "causal_mask", source)
    assert shown["yours"] == shown["expected"]
    assert "is of dtype float64, should be bool" in shown["says"]


def test_the_svg_has_words_for_every_cell() -> None:
    shown = picture("weights", "head 0 <b>", np.flip(attention(3, 3)), attention(3, 3), HOSTILE[:3])
    root = ElementTree.fromstring(svg.heat_map(shown, True, "a"))
    assert root.attrib["role"] == "img"
    labels = root.attrib["aria-labelledby"].split()
    assert [e.attrib["id"] for e in (*root.iter("title"), *root.iter("desc")) if "id" in e.attrib] == labels
    cells = [group.findtext("title") or "" for group in root.iter("g")]
    assert len(cells) == 9
    assert cells[0].startswith("query 0 '<script>alert(1)</script>', key 0 ")
    assert "should be: " in cells[0]
    classes = [e.attrib["class"].split() for e in root.iter("rect")]
    assert sum("first" in one for one in classes) == 1
    assert sum("wrong" in one for one in classes) == int(np.sum(shown["wrong"]))
    assert len(list(root.iter("path"))) == 1
    right = ElementTree.fromstring(svg.heat_map(shown, False, "b"))
    assert not [e for e in right.iter("rect") if "wrong" in e.attrib["class"]]


def test_a_chart_marks_the_par_and_who_passed() -> None:
    one = {"date": "2026-11-30", "kata": "causal_mask", "par": 300.0, "words": "4:00 of 5:00"}
    times = [{**one, "seconds": 240.0, "passed": True}, {**one, "seconds": 9000.0, "passed": False}]
    root = ElementTree.fromstring(svg.chart(times, "times"))
    assert "2 questions, 1 passed, 1 took longer than the par" in (root.findtext("desc") or "")
    par = float(root.find("line").attrib["x1"])  # type: ignore[union-attr]
    ends = [float(e.attrib["x"]) + float(e.attrib["width"]) for e in root.iter("rect")]
    assert ends[0] < par < ends[1] <= svg.CHART
