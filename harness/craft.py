"""Notes on craft: what was measured and differs from the solution, in words. Nothing is said that was not measured.

A loop is found by counting how often each line runs as one size grows, and said only when the code is also slower
there. A change of dtype is pinned on an expression only when that expression alone, put right, mends it.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from harness import outputs, wording
from harness.model import Answer, Call
from harness.sizes import Sizes, has_floats, narrowed
from harness.timing import Metered, Pair

Asked = Sequence[tuple[Call, Answer, Answer]]
Loop = ast.For | ast.While
FEW, MANY, GROWS = 4, 16, 2.5
SLOWER, LARGER, WORTH = 1.5, 2.0, 1 << 18
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
    """Something to loop over: its letter, its name, what `Sizes.call` calls it, and how many of it are timed."""

    letter: str
    name: str
    option: str
    large: int = 16


class Held(NamedTuple):
    """What a call of so many tokens did in each."""

    call: Call
    tokens: int
    yours: Metered
    solution: Metered


AXES = (Axis("H", "heads", "heads"), Axis("T", "tokens", "tokens", 64), Axis("B", "the batch", "batch"))


def held(pair: Pair, sizes: Sizes, tokens: int) -> Held | None:
    """The memory of one call of each."""
    call = sizes.call(tokens)
    yours = call and pair.metered(call)
    theirs = call and pair.metered(call, solution=True)
    return Held(call, tokens, yours, theirs) if call and yours and theirs else None


def notes(pair: Pair, sizes: Sizes, asked: Asked, memory: Held | None) -> list[Note]:
    """What can be said of one function; `asked` are calls with the answers of both."""
    found = [*_loops(pair, sizes), *_dtype(pair, sizes), *_memory(pair, memory), *_inputs(asked), *_views(pair, sizes)]
    return [*found, *_warnings(asked)]


def _loops(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    """Loops of Python over heads, tokens or the batch, where the solution has none and is faster."""
    found: list[tuple[Axis, int, float]] = []
    with contextlib.suppress(SyntaxError, ValueError):
        tree = ast.parse(pair.source)
        for axis in AXES:
            few, many = _axis_call(sizes, axis, FEW), _axis_call(sizes, axis, MANY)
            loop = _loop(pair, tree, few, many) if few and many else 0
            large = _axis_call(sizes, axis, axis.large) if loop else None
            timed = pair.timed(large) if large else None
            if timed and timed.ratio and timed.ratio >= SLOWER:
                found.append((axis, loop, timed.ratio))
    if found:
        over = _listed([f"{axis.name} (line {line})" for axis, line, _ in found])
        slower = [f"{ratio:.2g} times slower at {axis.letter} = {axis.large}" for axis, _, ratio in found]
        yield Note("loop", found[0][1], f"you loop over {over} in Python: {', '.join(slower)} than the solution")


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _axis_call(sizes: Sizes, axis: Axis, n: int) -> Call | None:
    usable = {"H": sizes.has_heads, "T": sizes.grows, "B": bool(sizes.batch)}[axis.letter]
    options = {"tokens": 8, axis.option: n}
    return sizes.call(**options) if usable else None


def _loop(pair: Pair, tree: ast.AST, few: Call, many: Call) -> int:
    """The line of the loop that takes more turns for more of something, where none of the solution's does; or 0."""
    yours = [pair.metered(call) for call in (few, many)]
    theirs = [pair.metered(call, solution=True) for call in (few, many)]
    if None in theirs or _grown(ast.parse(pair.solution_source), *theirs):
        return 0
    return _grown(tree, *yours)


def _grown(tree: ast.AST, few: Metered | None, many: Metered | None) -> int:
    if few is None or many is None:
        return 0
    for node in ast.walk(tree):  # loops first, from the outside in
        if isinstance(node, Loop) and _turns(node, many.counts) >= GROWS * _turns(node, few.counts) > 0:
            return node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            line = node.elt.lineno if not isinstance(node, ast.DictComp) else node.key.lineno
            if many.counts.get(line, 0) >= GROWS * few.counts.get(line, MANY):
                return node.lineno
    return 0


def _turns(node: ast.For | ast.While, counts: Mapping[int, int]) -> float:
    """How many turns a loop takes each time that it is reached."""
    ran = _reached(node.body[0], counts)
    return ran / max(1, counts.get(node.lineno, 0) - ran)


def _reached(node: ast.stmt, counts: Mapping[int, int]) -> int:
    """How often a statement was reached from outside: the line of a loop also runs at the end of each turn."""
    ran = counts.get(node.lineno, 0)
    return ran - _reached(node.body[0], counts) if isinstance(node, Loop) else ran


def _dtype(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    """float32 in, float64 out, where the solution keeps float32; with the expression that does it, if one does."""
    call = sizes.call()
    if call is None or not has_floats(call):
        return
    call = narrowed(call)
    [(yours, theirs)] = pair.both([call])
    if _kept(theirs) != "float32" or _kept(yours) != "float64":
        return
    seen = pair.metered(call, watch=True)
    first = seen.wide if seen else 0
    for line, text, source in sorted(_mended(pair.source), key=lambda m: (m[0] != first, len(m[1]))):
        session = pair.altered(source)
        answers = [] if session.broken else list(session.ask([call]))
        session.close()
        if answers and _kept(answers[0]) == "float32":
            yield Note("dtype", line, f"`{text}` (line {line}) turns your float32 into float64")
            return
    where = f": float64 first shows after line {first}" if first else ""
    yield Note("dtype", first, f"float32 in gives float64 out{where}")


def _kept(answer: Answer) -> str:
    found = [value for value in outputs.wanted(answer.value) if np.asarray(value).dtype.kind == "f"]
    return str(found[0].dtype) if found else ""


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


def _memory(pair: Pair, held: Held | None) -> Iterator[Note]:
    """A line that holds far more at once than the solution ever does."""
    if not held or held.yours.peak < LARGER * held.solution.peak or held.yours.peak < WORTH:
        return
    line = max(held.yours.peaks, key=lambda n: held.yours.peaks[n])
    size, what = held.yours.peaks[line], "temporaries"
    watched = pair.metered(held.call, watch=True)
    if watched and watched.largest[2] >= size / 2:
        name, shape, size, line = watched.largest
        what = f"an array `{name}` {shape}"
    times = held.yours.peak / held.solution.peak
    says = f"line {line} makes {what} of {mebibytes(size)}: at its peak your code holds {times:.2g} times as much as"
    yield Note("memory", line, f"{says} the solution (T = {held.tokens})")


def _inputs(asked: Asked) -> Iterator[Note]:
    for _, yours, theirs in asked:
        if yours.changed and not theirs.changed:
            yield Note("input", 0, f"you modify {' and '.join(yours.changed)}, which belongs to the caller")
            return


def _views(pair: Pair, sizes: Sizes) -> Iterator[Note]:
    call = sizes.call()
    yours = call and pair.metered(call, watch=True)
    theirs = call and pair.metered(call, watch=True, solution=True)
    if call and yours and theirs and yours.shares and not theirs.shares:
        name = call.names[yours.shares[0]]
        yield Note("view", 0, f"the answer of {call.function} is a view of {name}: writing into one changes the other")


def _warnings(asked: Asked) -> Iterator[Note]:
    for call, yours, theirs in asked:
        if yours.warnings and not theirs.warnings and yours.raised is None:
            first = yours.warnings[0]
            where = f" in line {first.line}" if first.line else ""
            text, _ = wording.describe(call)
            yield Note("warning", first.line, f"{first.category}{where}: {first.message} ({text})")
            return


def mebibytes(size: float) -> str:
    """A size for a person."""
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
