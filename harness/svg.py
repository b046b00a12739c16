"""The pictures of `pictures` and the chart of interview times, as inline SVG that takes its colours from the page.

Nothing is said by colour alone: a cell carries its number or a dot, a wrong one an outline, and each its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.markup import Html, tag, written
from harness.pictures import Cell, Picture, cell, shade, short

STEPS = 9
SIDE = 44  # of a cell, in units of the drawing
SMALL_SIDE = 26  # where there are many
LETTER = 7.6  # about the width of one
LABEL = 9  # letters
CHART, ROW, LEFT, RIGHT = 440, 46, 6, 24
MOST = 24
TALLEST = 3.0  # times the par


def heat_map(shown: Picture, yours: bool, name: str) -> Html:
    """One of the two maps of a picture; `name` is unique in the page."""
    values = (shown["yours"] or []) if yours else shown["expected"]
    side = SIDE if len(shown["columns"]) <= 10 else SMALL_SIDE
    gutter = 10 + LETTER * max(len(_cut(label)) for label in shown["rows"])
    top = 26
    wide = [max(side, 8 + LETTER * len(_cut(label))) if side == SIDE else side for label in shown["columns"]]
    at = [gutter + sum(wide[:j]) for j in range(len(wide))]
    across = [
        tag("text", _cut(label, side), x=round(at[j] + wide[j] / 2, 1), y=top - 8, class_="axis middle")
        for j, label in enumerate(shown["columns"])
    ]
    down = [
        tag("text", _cut(label), x=round(gutter - 7, 1), y=round(top + (i + 0.5) * side + 4.5, 1), class_="axis end")
        for i, label in enumerate(shown["rows"])
    ]
    cells = [
        _cell(shown, (i, j), value, yours, (at[j], top + i * side, wide[j], side))
        for i, row in enumerate(values)
        for j, value in enumerate(row)
    ]
    width, height = round(gutter + sum(wide) + 2, 1), round(top + side * len(values) + 2, 1)
    whose = "yours" if yours else "as it should be"
    about = f"{shown['down']} down, {shown['across']} across. " + (shown["says"] if yours else "")
    return _drawing(name, f"{shown['title']}, {whose}", about, width, height, *across, *down, *cells)


def _drawing(name: str, title: str, about: str, width: float, height: float, *parts: Html) -> Html:
    titles = tag("title", title, id=f"{name}-t"), tag("desc", about, id=f"{name}-d")
    return tag(
        "svg",
        *titles,
        *parts,
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def _cell(
    shown: Picture, at: tuple[int, int], value: Cell, yours: bool, box: tuple[float, float, float, float]
) -> Html:
    i, j = at
    x, y, width, side = box
    wrong, first = yours and shown["wrong"][i][j], yours and shown["first"] == [i, j]
    words = f"{shown['down']} {_named(shown['rows'], i)}, {shown['across']} {_named(shown['columns'], j)}: "
    words += cell(shown["kind"], value)
    words += f", should be: {cell(shown['kind'], shown['expected'][i][j])}" if wrong else ""
    level = level_of(shown, value)
    ink = "on" if level is not None and level > STEPS // 2 else "off"
    inset = 4.5 if wrong else 1.0  # an outline stands beside the fill, so that it shows on any
    fill = "hx" if level is None else f"cell h{level}"
    parts = [_rect(fill, x + inset, y + inset, width - 2 * inset, side - 2 * inset)]
    middle, centre = round(x + width / 2, 1), round(y + side / 2, 1)
    if shown["kind"] != "weights":
        parts += [tag("circle", cx=middle, cy=centre, r=side // 9, class_=ink)] if level else []
    elif side == SIDE:
        parts.append(tag("text", short(value), x=middle, y=centre + 4.5, class_=f"middle {ink}"))
    if wrong:
        parts.append(_rect("wrong first" if first else "wrong", x + 2, y + 2, width - 4, side - 4))
    if first:
        right, size = x + width - 2, side * 0.3
        parts.append(tag("path", d=f"M{right - size:.1f} {y + 2:.1f}H{right:.1f}V{y + 2 + size:.1f}Z", class_="corner"))
    return tag("g", tag("title", words), *parts)


def level_of(shown: Picture, value: Cell) -> int | None:
    """The step of the scale that a cell is painted with; None for NaN and infinity."""
    if shown["kind"] == "weights":
        return shade(value, STEPS)
    return (STEPS - 2) * (bool(value) != (shown["kind"] == "mask"))


def scale() -> Html:
    """The steps of the weights from 0 to 1, to explain them with."""
    steps = [_rect(f"cell h{n}", 2 + 16 * n, 2, 15, 12) for n in range(STEPS)]
    return tag("svg", *steps, width=4 + 16 * STEPS, height=16, aria_hidden="true", class_="scale")


def sample(kind: str) -> Html:
    """One small cell to explain a mark with: 'on', 'off', 'wrong' or 'first'."""
    inset = 4 if kind in ("wrong", "first") else 1
    parts = [_rect("cell h7" if kind == "on" else "cell h0", inset, inset, 18 - 2 * inset, 18 - 2 * inset)]
    if kind == "on":
        parts.append(tag("circle", cx=9, cy=9, r=2.5, class_="on"))
    if kind in ("wrong", "first"):
        parts.append(_rect(f"wrong {kind}", 2, 2, 14, 14))
    if kind == "first":
        parts.append(tag("path", d="M10 2H17V9Z", class_="corner"))
    return tag("svg", *parts, width=18, height=18, aria_hidden="true", class_="scale")


def chart(times: Sequence[dict[str, Any]], name: str) -> Html:
    """The time that each question of the interviews took, as a part of its par, the oldest first.

    Each is {"date", "kata", "seconds", "par", "passed", "words"}; `words` is the time as it should be written.
    """
    times = times[-MOST:]
    longest = min(TALLEST, max(1.25, *(t["seconds"] / t["par"] for t in times)))
    span, height = CHART - LEFT - RIGHT, 30 + ROW * len(times)
    par = round(LEFT + span / longest, 1)
    parts = [
        tag("line", x1=par, y1=20, x2=par, y2=height, class_="par"),
        tag("text", "par", x=par, y=14, class_="axis middle"),
    ]
    for n, one in enumerate(times):
        parts.append(_bar(one, 30 + ROW * n, LEFT, span, longest))
    slow = sum(t["seconds"] > t["par"] for t in times)
    about = f"{len(times)} questions, {sum(t['passed'] for t in times)} passed, {slow} took longer than the par."
    return _drawing(name, "Interview time against par, by date", about, CHART, height, *parts)


def _bar(one: dict[str, Any], y: float, left: float, span: float, longest: float) -> Html:
    part = min(longest, one["seconds"] / one["par"])
    end = round(left + span * part / longest, 1)
    how = "passed" if one["passed"] else "not passed"
    mark = (
        tag("circle", cx=end, cy=y + 24, r=6, class_="passed")
        if one["passed"]
        else tag("path", d=f"M{end - 5} {y + 19}l10 10m0 -10l-10 10", class_="failed")
    )
    return tag(
        "g",
        tag("title", f"{one['date']}: {one['kata']} {how}, {one['words']}"),
        tag("text", f"{written(one['date'], short=True)} · {one['kata']}", x=left, y=y + 10, class_="label"),
        tag("text", one["words"], x=CHART - 2, y=y + 10, class_="label end"),
        _rect("bar" if one["passed"] else "bar missed", left, y + 21, max(1.0, end - left), 6),
        mark,
    )


def _rect(class_: str, x: float, y: float, width: float, height: float) -> Html:
    sizes = {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(height, 1)}
    return tag("rect", class_=class_, rx=3, **sizes)


def _cut(label: str, side: int = SIDE) -> str:
    most = LABEL if side == SIDE else 2
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _named(labels: Sequence[str], n: int) -> str:
    return str(n) if labels[n] == str(n) else f"{n} '{labels[n]}'"
