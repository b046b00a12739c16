"""Two sources side by side: aligned by function, differences marked, in columns and as a diff."""

from __future__ import annotations

import pytest

from harness import outline
from harness.sidebyside import Part, Row, columns, parts, stacked

THEIRS = '''"""A prompt."""

import numpy as np


def helper(x: int) -> int:
    y = x + 1
    return y * 2


def answer(x: int) -> int:
    return helper(x)  # twice
'''
YOURS = '''import numpy as np

# my own notes


def my_helper(x: int) -> int:
    """Says what it does."""
    y = x + 1
    return y * 2


def answer(x: int) -> int:
    z = 3
    return my_helper(x)


def debug():
    print("here")
'''


def by_name(found: list[Part]) -> dict[str, Part]:
    return {part.name: part for part in found}


def test_functions_stand_beside_their_twins_whatever_they_are_called() -> None:
    found = by_name(parts(YOURS, THEIRS))
    assert list(found) == ["", "my_helper (in the solution: helper)", "answer", "debug"]
    assert found[""].same
    assert [row.mark for row in found["my_helper (in the solution: helper)"].rows] == ["|", " ", " "]
    assert Row("<", "    return my_helper(x)", None) in found["answer"].rows
    assert all(row.mark == "<" and row.theirs is None for row in found["debug"].rows)


def test_comments_docstrings_and_spacing_are_no_differences() -> None:
    spaced = THEIRS.replace("x + 1", "x+1").replace("  # twice", "").replace("def answer", "# why\n\n\ndef answer")
    assert all(part.same for part in parts(spaced, THEIRS))
    inside = THEIRS.replace("    y = x + 1\n", "    if x:\n        y = x + 1\n")
    assert [row.mark for row in parts(inside, THEIRS)[1].rows] == [" ", "|", "<", " "]


def test_every_line_of_code_is_shown_once() -> None:
    shown = "\n".join(stacked(parts(YOURS, THEIRS), 60))
    for line in ("    y = x + 1", "    z = 3", '    print("here")'):
        assert sum(row.endswith(line) for row in shown.splitlines()) <= 1
    assert "-     z = 3" in shown and "+     return helper(x)" in shown and '-     print("here")' in shown


@pytest.mark.parametrize("name", outline.names())
def test_a_solution_beside_itself_is_the_same(name: str) -> None:
    source = (outline.SOLUTIONS / f"{name}.py").read_text()
    assert all(part.same for part in parts(source, source))
    assert len(columns(parts(source, source), 100)) < 6


@pytest.mark.parametrize("width", [40, 60, 100, 119])
def test_no_line_is_wider_than_asked(width: int) -> None:
    long = YOURS.replace("z = 3", f"z = {' + '.join(['a_long_name'] * 60)}")
    found = parts(long, THEIRS)
    for lines in (columns(found, width), stacked(found, width)):
        assert max(map(len, lines)) <= width
        assert any("[...]" in line for line in lines)


def test_what_is_no_python_is_said() -> None:
    with pytest.raises(SyntaxError):
        parts("def f(:\n", THEIRS)
