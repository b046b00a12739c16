"""Heat maps of what code does, as data and as text: masks, attention weights, and what moves what.

A picture holds the person's map beside the expected one, in JSON's types: the text here and the SVG elsewhere read
nothing else. The text needs neither colour nor more than 80 columns.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

import numpy as np

from harness import grids
from harness.expect import differs
from harness.wire import Array

VERSION = 1
LARGEST = 16  # rows and columns of a picture
NUMBERED = 8  # weights are written as numbers up to here, and as shades alone above
LABEL, LONGEST = 6, 32  # of a label over a column, and of one in a sentence
WIDTH = 78
RIGHT = "as it should be"
SHADES = " .:~+*%#@"
Kind = Literal["mask", "weights", "influence"]
Cell = bool | float | str
WORDS = {"mask": ("query", "key"), "weights": ("query", "key"), "influence": ("output row", "input row")}
KEYS = {
    "mask": "# sees, . is blocked, ! must not see, o should see",
    "influence": "# depends, . does not, ! must not, o should",
    "weights": f"'{SHADES}' from 0 to 1, ! is wrong",
}


class Picture(TypedDict):
    """Two maps of one shape. `yours` is None when there is nothing to draw, and `says` tells why."""

    version: int
    kind: Kind
    title: str
    down: str
    across: str
    rows: list[str]
    columns: list[str]
    yours: list[list[Cell]] | None
    expected: list[list[Cell]]
    wrong: list[list[bool]]
    first: list[int] | None
    says: str


def picture(
    kind: Kind,
    title: str,
    yours: Array | None,
    expected: Array,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    axes: tuple[str, str] | None = None,
    note: str = "",
) -> Picture:
    """A picture of two 2-D maps. `rows` and `columns` label them, with their tokens or else with their numbers.

    A mask is given as the contracts have it (True = blocked); an influence map is True where a row moves.
    """
    down, across = axes or WORDS[kind]
    T, S = (min(n, LARGEST) for n in expected.shape)
    fits = yours is not None and yours.shape == expected.shape and yours.dtype.kind in "biuf"
    wrong, first = np.zeros((T, S), bool), None
    if yours is not None and fits:
        everywhere = differs(yours, expected)
        wrong = everywhere[:T, :S]
        first = _first(everywhere, expected)
    names = _labels(rows, T), _labels(columns or (rows if T == S else ()), S)
    return {
        "version": VERSION,
        "kind": kind,
        "title": title,
        "down": down,
        "across": across,
        "rows": names[0],
        "columns": names[1],
        "yours": _cells(yours[:T, :S]) if yours is not None and fits else None,
        "expected": _cells(expected[:T, :S]),
        "wrong": wrong.tolist(),
        "first": first,
        "says": note or _unfit(yours, expected, fits) or _says(kind, (down, across), names, yours, expected, first),
    }


def text(shown: Picture) -> str:
    """A picture for a terminal: what is wrong in words, the two maps, and how to read them."""
    heads = ("yours", "should be")
    right = _grid(shown, shown["expected"], marked=False)
    if shown["yours"] is None:
        maps = "\n".join([heads[1], *right])
    else:
        maps = grids.beside(_grid(shown, shown["yours"], marked=True), right, heads, gap=3)
    key = f"{shown['down']} down, {shown['across']} across; {KEYS[shown['kind']]}"
    if shown["first"]:
        key += ", [] is the first"
    says = f"{_plain(shown['title'])}: {_plain(shown['says'])}"
    return "\n".join([textwrap.fill(says, WIDTH), maps, textwrap.fill(key, WIDTH)])


def shade(value: Cell, steps: int) -> int | None:
    """How dark a cell is, from 0 to `steps` - 1; None for what is no finite number."""
    if isinstance(value, str):
        return None
    return round(min(1.0, abs(float(value))) * (steps - 1))


def cell(kind: Kind, value: Cell) -> str:
    """One entry in words."""
    if kind == "mask":
        return "blocked" if value else "visible"
    if kind == "influence":
        return "depends" if value else "does not depend"
    return value if isinstance(value, str) else f"{value:.3g}"


def short(value: Cell) -> str:
    """A weight in at most four characters."""
    if isinstance(value, str) or value in (0, 1):
        return value if isinstance(value, str) else str(int(value))
    if 0 < abs(value) < 0.005:
        return "~0" if value > 0 else "-~0"
    return (
        f"{value:.2f}".removeprefix("0") if 0 <= value < 1 else f"{value:.1f}" if abs(value) < 100 else f"{value:.0e}"
    )


def _first(wrong: Array, expected: Array) -> list[int] | None:
    """The wrong cell to name: the first that should hold nothing, since that says most, or else the first of all."""
    leaks = wrong & (expected == 0)
    where = np.argwhere(leaks if expected.dtype.kind == "f" and leaks.any() else wrong)
    return [int(n) for n in where[0]] if len(where) else None


def _labels(given: Sequence[str], count: int) -> list[str]:
    return [str(given[n])[:LONGEST] if n < len(given) else str(n) for n in range(count)]


def _cells(values: Array) -> list[list[Cell]]:
    if values.dtype.kind == "b":
        return [[bool(v) for v in row] for row in values]
    return [[float(v) if math.isfinite(v) else str(float(v)) for v in row] for row in values]


def _unfit(yours: Array | None, expected: Array, fits: bool) -> str:
    if yours is None:
        return "yours gave nothing to draw"
    return "" if fits else f"yours is {yours.shape} of {yours.dtype}, should be {expected.shape} of {expected.dtype}"


def _says(
    kind: Kind,
    axes: tuple[str, str],
    names: tuple[list[str], list[str]],
    yours: Any,
    expected: Array,
    first: list[int] | None,
) -> str:
    """The first wrong cell by name, and how many there are."""
    if first is None:
        return RIGHT
    row, column = (
        f"{axis} {at}" + (f" '{label[at]}'" if at < len(label) and label[at] != str(at) else "")
        for axis, at, label in zip(axes, first, names, strict=True)
    )
    got, want = yours[tuple(first)], expected[tuple(first)]
    if kind == "weights":
        is_, should = (f"{float(v):.3g}" for v in (got, want))
        if is_ == should:
            is_, should = grids.pair(got, want)
        words = f"{row} gives {column} a weight of {is_}, should be {should}"
    elif kind == "mask":
        words = f"{row} {'is kept from' if got else 'sees'} {column}, should {'not see' if want else 'see'} it"
    else:
        words = f"{row} {'depends' if got else 'does not depend'} on {column}, but should{'' if want else ' not'}"
    return words


def _grid(shown: Picture, values: list[list[Cell]], marked: bool) -> list[str]:
    """The lines of one map, below a line of labels."""
    narrow = len(shown["columns"]) > NUMBERED
    columns = [_cut(label)[: 2 if narrow else LABEL] for label in shown["columns"]]
    bodies = [
        [_body(shown, v, e, len(columns), marked) for v, e in zip(row, right, strict=True)]
        for row, right in zip(values, shown["expected"], strict=True)
    ]
    widths = [max(len(columns[j]), *(len(row[j]) for row in bodies)) for j in range(len(columns))]
    stub = max(len(_cut(label)) for label in shown["rows"]) + 1
    lines = [" " * stub + "".join(f" {label.rjust(w)} " for label, w in zip(columns, widths, strict=True))]
    for i, row in enumerate(bodies):
        line = _cut(shown["rows"][i]).rjust(stub - 1) + " "
        for j, body in enumerate(row):
            wrong = marked and shown["wrong"][i][j]
            first = marked and shown["first"] == [i, j]
            numbers = shown["kind"] == "weights"
            before, after = ("[", "]") if first else ("!" if wrong and numbers else " ", " ")
            line += f"{before}{body.rjust(widths[j])}{after}"
        lines.append(line)
    return [line.rstrip() for line in lines]


def _body(shown: Picture, value: Cell, right: Cell, size: int, marked: bool) -> str:
    if shown["kind"] == "weights":
        level = shade(value, len(SHADES))
        ink = "?" if level is None else SHADES[level]
        return ink if size > NUMBERED else f"{2 * ink} {short(value):>3}"
    sees = bool(value) != (shown["kind"] == "mask")
    wrong = marked and bool(value) != bool(right)
    return ("!" if sees else "o") if wrong else "#" if sees else "."


def _cut(label: str) -> str:
    """A label that fits over a column."""
    plain = _plain(label)
    return plain if len(plain) <= LABEL else f"{plain[: LABEL - 1]}~"


def _plain(words: str) -> str:
    """Printable ASCII, which has the same width in every terminal and commands none."""
    return "".join(c if " " <= c <= "~" else "?" for c in words)
