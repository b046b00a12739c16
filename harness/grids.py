"""Small arrays as text: side by side with the differing entries marked, and who-sees-whom maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.wire import Array

SMALL = 8


def number(value: Any) -> str:
    """One entry as a person would write it."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, complex | np.complexfloating):
        return f"{value:.4g}"
    if isinstance(value, float | np.floating):
        text = f"{float(value):.6g}"
        return text if any(c in text for c in ".enf") else f"{text}.0"
    return str(value)


def pair(got: Any, want: Any) -> tuple[str, str]:
    """Two entries that differ, with all digits when fewer would make them look the same."""
    texts = number(got), number(want)
    return texts if texts[0] != texts[1] else (repr(got.item()), repr(want.item()))


def table(values: Array, marks: Array | None = None) -> list[str]:
    """The lines of a matrix; marked entries stand between asterisks."""
    rows = np.atleast_2d(values)
    write = {True: "T", False: "F"}.__getitem__ if rows.dtype == bool else number
    flags = np.zeros(rows.shape, bool) if marks is None else np.broadcast_to(np.atleast_2d(marks), rows.shape)
    cells = [
        [f"*{write(v)}*" if f else f" {write(v)} " for v, f in zip(row, flag, strict=True)]
        for row, flag in zip(rows, flags, strict=True)
    ]
    width = max((len(cell) for row in cells for cell in row), default=0)
    return [" ".join(cell.rjust(width) for cell in row) for row in cells]


def beside(left: list[str], right: list[str], heads: tuple[str, str], gap: int = 4) -> str:
    """Two blocks side by side under their headings; below each other when 80 columns do not hold them."""
    width = max(len(line) for line in [heads[0], *left])
    if width + gap + max(len(line) for line in [heads[1], *right]) > 76:
        return "\n".join([heads[0], *left, heads[1], *right])
    size = max(len(left), len(right))
    rows = zip(
        [heads[0], *left, *[""] * (size - len(left))], [heads[1], *right, *[""] * (size - len(right))], strict=True
    )
    return "\n".join(f"{a.ljust(width)}{' ' * gap}{b}".rstrip() for a, b in rows)


def compared(got: Array, want: Array, wrong: Array) -> str:
    """The 2-D slice of the first difference, got beside expected; empty when it is too big to read."""
    first = np.argwhere(wrong)[0]
    index = tuple(int(i) for i in first[:-2]) if got.ndim > 2 else ()
    left, right, marks = got[index], want[index], wrong[index]
    if left.ndim == 0 or max(left.shape) > SMALL:
        return ""
    where = f" [{', '.join(map(str, index))}]" if index else ""
    return beside(table(left, marks), table(right), (f"got{where}", f"should be{where}"))


def influence(sees: Array, expected: Array, rows: str = "output row", columns: str = "input row") -> str:
    """Two boolean maps as a grid: `#` where row i depends on column j, `!` where that is wrong, `.` where not."""

    def lines(map_: Array, other: Array) -> list[str]:
        return [
            f"{i:>2} "
            + " ".join(("#" if a else ".") if a == b else ("!" if a else "o") for a, b in zip(r, s, strict=True))
            for i, (r, s) in enumerate(zip(map_, other, strict=True))
        ]

    head = "   " + " ".join(str(j % 10) for j in range(sees.shape[1]))
    grid = beside([head, *lines(sees, expected)], [head, *lines(expected, expected)], ("yours", "should be"))
    key = f"{rows} down, {columns} across; # sees, . does not, ! must not, o should"
    return f"{grid}\n{key}"
