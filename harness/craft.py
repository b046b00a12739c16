"""Notes on craft: what was measured and differs from the solution, in words. Nothing is said that was not measured.

A loop is found by counting how often each line runs as one size grows, and said only when the code is also slower
there. A change of dtype is pinned on an expression only when that expression alone, put right, mends it.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from harness import expect
from harness.model import Answer, Call
from harness.sizes import LONGEST, Sizes, has_floats, narrowed
from harness.timing import Metered, Pair, Timed

MANY = 16
SLOWER, LARGER = 1.5, 2.0
TRIED = 40
PLAIN = """

def kata_plain(value):
    import numpy
    if isinstance(value, numpy.float64):
        return float(value)
    wide = isinstance(value, numpy.ndarray) and value.dtype == numpy.float64
    return value.astype(numpy.float32) if wide else value
"""


class Note(NamedTuple):
    """One fact: its kind, the line of the person's file (0 when there is none), and the sentence."""

    kind: str
    line: int
    says: str


class Axis(NamedTuple):
    """Something to loop over: its letter, its name, and the sizes that tell."""

    letter: str
    name: str
    option: str


AXES = (Axis("H", "heads", "heads"), Axis("T", "tokens", "tokens"), Axis("B", "batch", "batch"))


def notes(pair: Pair, sizes: Sizes, asked: Sequence[tuple[Call, Answer, Answer]]) -> list[Note]:
    """What can be said of one function; `asked` are calls with the answers of both."""
    found = [*_loops(pair, sizes), *_dtype(pair, sizes), *_memory(pair, sizes), *_inputs(asked), *_views(pair, sizes)]
    return [*found, *_warnings(asked)]


def _loops(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    """Loops of Python over heads, tokens or the batch, where the solution has none and is faster."""
    with contextlib.suppress(SyntaxError, ValueError):
        loops = [node for node in ast.walk(ast.parse(pair.source)) if _body(node)]
        for axis in AXES if loops else ():
            few, many = _axis_call(sizes, axis, 4), _axis_call(sizes, axis, MANY)
            loop = few and many and _loop(pair, loops, few, many)
            if loop and many and few:
                small, large = pair.timed(few), pair.timed(many)
                if large and large.ratio and small and small.ratio and large.ratio >= SLOWER:
                    yield Note("loop", loop, _slow(axis, loop, small.ratio, large))


def _axis_call(sizes: Sizes, axis: Axis, n: int) -> Call | None:
    usable = {"H": sizes.has_heads, "T": sizes.grows, "B": bool(sizes.batch)}[axis.letter]
    options = {"tokens": 8, axis.option: n}
    return sizes.call(**options) if usable else None


def _loop(pair: Pair, loops: list[ast.AST], few: Call, many: Call) -> int:
    """The line of the outermost loop whose body runs four times as often for four times as many; 0 if there is none."""
    runs = [pair.metered(call) for call in (few, many)]
    reference = [pair.metered(call, solution=True) for call in (few, many)]
    if None in runs or None in reference or _scales(reference):
        return 0
    scaling = _scales(runs)
    found = [node for node in loops if _body(node) & scaling]
    last: Any = runs[-1]
    by_count = sorted(found, key=lambda node: (min(last.counts[n] for n in _body(node) & scaling), node.lineno))  # type: ignore[attr-defined]
    return by_count[0].lineno if by_count else 0  # type: ignore[attr-defined]


def _scales(runs: Sequence[Metered | None]) -> set[int]:
    few, many = runs
    assert few and many
    return {line for line, n in many.counts.items() if n >= MANY and n >= 3 * few.counts.get(line, n)}


def _body(node: ast.AST) -> set[int]:
    """The lines inside a loop; for a comprehension those that it stands on."""
    if isinstance(node, ast.For | ast.While):
        return set(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return set()


def _slow(axis: Axis, line: int, small: float, large: Timed) -> str:
    few = f", {small:.2g} times at {axis.letter} = 4" if small >= 1.1 else ""
    over = "the batch" if axis.letter == "B" else axis.name
    says = f"you loop over {over} in Python (line {line}): {large.ratio:.2g} times slower than the solution"
    return f"{says} at {axis.letter} = {MANY}{few}"


def _dtype(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    """float32 in, float64 out, where the solution keeps float32; with the expression that does it, if one does."""
    call = sizes.call()
    if call is None or not has_floats(call):
        return
    call = narrowed(call)
    [(yours, theirs)] = pair.both([call])
    if _kept(theirs) != "float32" or _kept(yours) != "float64":
        return
    for line, text, source in _mended(pair.source):
        session = pair.altered(source)
        answers = [] if session.broken else list(session.ask([call]))
        session.close()
        if answers and _kept(answers[0]) == "float32":
            yield Note("dtype", line, f"{text} (line {line}) turns your float32 into float64")
            return
    seen = pair.metered(call, watch=True)
    line = seen.wide if seen else 0
    where = f": float64 first shows after line {line}" if line else ""
    yield Note("dtype", line, f"float32 in gives float64 out{where}")


def _kept(answer: Answer) -> str:
    return str(answer.value.dtype) if isinstance(answer.value, np.ndarray) else ""


def _mended(source: bytes) -> Iterator[tuple[int, str, bytes]]:
    """The source with one call of NumPy at a time made plain: its line, its text, and the whole file."""
    text = source.decode("utf-8", "replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    for node in calls[:TRIED]:
        shown = ast.get_source_segment(text, node)
        if shown is None or len(shown) > 60 or "\n" in shown:
            continue
        lines = source.splitlines(keepends=True)
        row = lines[node.lineno - 1]
        changed = row[: node.col_offset] + b"kata_plain(" + row[node.col_offset : node.end_col_offset] + b")"
        lines[node.lineno - 1] = changed + row[node.end_col_offset :]
        yield node.lineno, shown, b"".join(lines) + PLAIN.encode()


def _memory(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    """A line that holds far more at once than the solution ever does."""
    call = sizes.call(LONGEST // 4)
    yours = call and pair.metered(call)
    theirs = call and pair.metered(call, solution=True)
    if not call or not yours or not theirs or yours.peak < LARGER * theirs.peak or yours.peak < 1 << 20:
        return
    line = max(yours.peaks, key=lambda n: yours.peaks[n])
    held, what = yours.peaks[line], "temporaries"
    watched = pair.metered(call, watch=True)
    if watched and watched.largest[2] >= held / 2:
        name, shape, held, line = watched.largest
        what = f"an array `{name}` {shape}"
    times = yours.peak / theirs.peak
    says = f"line {line} makes {what} of {mebibytes(held)}; at its peak your code holds {times:.2g} times what the"
    yield Note("memory", line, f"{says} solution holds (T = {LONGEST // 4})")


def _inputs(asked: Sequence[tuple[Call, Answer, Answer]]) -> Iterator[Note]:
    for call, yours, theirs in asked:
        if yours.changed and not theirs.changed:
            yield Note("input", 0, f"{call.function} modifies {' and '.join(yours.changed)}, the caller's own")
            return


def _views(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    call = sizes.call()
    yours = call and pair.metered(call, watch=True)
    theirs = call and pair.metered(call, watch=True, solution=True)
    if call and yours and theirs and yours.shares and not theirs.shares:
        name = call.names[yours.shares[0]]
        yield Note("view", 0, f"the answer of {call.function} is a view of {name}: writing into one changes the other")


def _warnings(asked: Sequence[tuple[Call, Answer, Answer]]) -> Iterator[Note]:
    for call, yours, theirs in asked:
        if yours.warnings and not theirs.warnings and yours.raised is None:
            first = yours.warnings[0]
            where = f" in line {first.line}" if first.line else ""
            text, _ = expect.describe(call)
            yield Note("warning", first.line, f"{first.category}{where}: {first.message} ({text})")
            return


def mebibytes(size: float) -> str:
    """A size for a person."""
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
