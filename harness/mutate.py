"""Makes mistakes by machine and judges them: each fails the core checks, or is listed in `equal.toml` with the reason.

A mutant is a solution with one place changed. Two that parse alike are one, and one that parses like the solution is
none. Annotations, messages and the prompt are left alone: they decide no answer. A mutant of a guard may fail the
follow-ups alone. A listed one that fails after all is told too, so the list stays true.
"""

from __future__ import annotations

import ast
import itertools
import os
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, NamedTuple

from harness import outline, registry
from harness.forge import THREADS
from harness.grade import Grading
from harness.judge import Judge, Limits
from harness.mutation import Place, changes

LISTED = Path(__file__).with_name("equal.toml")
LIMITS = Limits(10.0, 3.0, 10.0)  # a mutant that loops for ever ends soon
CHUNK = 40
LEFT_OUT = (ast.JoinedStr, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context)
Fate = Literal["core", "follow-up", "alive"]
Key = tuple[str, str, str]


class Mutant(NamedTuple):
    """A solution with one place changed: the line where the place begins, as it was and as it became."""

    kata: str
    line: str
    became: str
    guard: bool  # the place decides what is refused, and nothing else
    source: str

    @property
    def key(self) -> Key:
        """What it is listed under: it does not change when lines move."""
        return self.kata, self.line, self.became


class Tried(NamedTuple):
    """What became of the mutants of one kata; `unexplained` says which live without a reason, or fail with one."""

    kata: str
    made: int
    core: int
    follow_up: int
    equal: int
    unexplained: tuple[str, ...]

    def line(self) -> str:
        """In one line."""
        fates = f"{self.core} fail the core, {self.follow_up} the follow-ups alone, {self.equal} are equal"
        return f"{self.kata}: {self.made} mutants, {fates}, {len(self.unexplained)} unexplained"


@cache
def listed() -> dict[Key, Fate]:
    """The mutants that may live, or fail the follow-ups alone, each under its kata, its line and what that became."""
    rows = tomllib.loads(LISTED.read_text(encoding="utf-8"))["place"]
    return {
        (kata, row["line"], became): row.get("fails", "alive")
        for row in rows
        for kata in row["katas"]
        for became in row["became"]
    }


def mutants(names: Sequence[str], jobs: int = 1, share: int = 1) -> Iterator[Tried]:
    """The mutants of some katas, judged through the real door: all, or one in `share` and those that are listed."""
    every = {name: list(made(name)) for name in names}
    may = listed()
    drawn = {
        name: [mutant for number, mutant in enumerate(some) if number % share == 0 or mutant.key in may]
        for name, some in every.items()
    }
    fates = _fates([mutant for some in drawn.values() for mutant in some], jobs)
    for name, some in drawn.items():
        unmet = {key for key in may if key[0] == name} - {mutant.key for mutant in every[name]}
        yield _tried(name, some, list(itertools.islice(fates, len(some))), unmet)


def made(name: str) -> Iterator[Mutant]:
    """Every mutant of one kata's solution, in the order of the source."""
    source = registry.solution(name).source
    lines = source.splitlines(keepends=True)
    _, *body = ast.parse(source).body  # without the prompt
    names = _Names(frozenset(_keys(body)), frozenset(_guards(body)))
    for top in body:
        first, last = top.lineno - 1, top.end_lineno or 0
        text = "".join(lines[first:last])
        [piece] = ast.parse(text).body
        seen = {_parsed(text), ""}
        for place in _places(piece, piece, names, _refuses(piece)):
            for new in changes(place):
                changed = _patched(text, place.node, ast.unparse(new))
                if (tree := _parsed(changed)) not in seen:
                    seen.add(tree)
                    at = place.node.lineno - 1
                    line, became = (one.splitlines()[at].partition("  #")[0].strip() for one in (text, changed))
                    yield Mutant(name, line, became, place.guard, "".join((*lines[:first], changed, *lines[last:])))


class _Names(NamedTuple):
    """What a solution asks its dicts for, and its functions that can only refuse."""

    keys: frozenset[str]
    guards: frozenset[str]


def _keys(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in itertools.chain.from_iterable(map(ast.walk, body)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield from {node.slice.value} if isinstance(node.slice.value, str) else ()


def _guards(body: Sequence[ast.stmt]) -> Iterator[str]:
    yield from (piece.name for piece in body if isinstance(piece, ast.FunctionDef) and _refuses(piece))


def _refuses(piece: ast.stmt) -> bool:
    """Whether it is a function that gives nothing back: all that it can do is to refuse."""
    returns = (isinstance(node, ast.Return) and node.value is not None for node in ast.walk(piece))
    return isinstance(piece, ast.FunctionDef) and not any(returns)


def _places(node: ast.AST, piece: ast.stmt, names: _Names, guard: bool) -> Iterator[Place]:
    """The expressions and statements below a node."""
    guard = guard or (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        guard = guard or ast.unparse(node.value.func) in names.guards
    if isinstance(node, ast.expr | ast.stmt):
        yield Place(node, _bound(piece, node.lineno), tuple(sorted(names.keys)), guard)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if (
                isinstance(child, ast.AST)
                and not isinstance(child, LEFT_OUT)
                and field not in ("annotation", "returns")
            ):
                yield from _places(child, piece, names, guard)


def _bound(piece: ast.stmt, line: int) -> tuple[str, ...]:
    """The names that a function has bound before a line."""
    found = {node.arg for node in ast.walk(piece) if isinstance(node, ast.arg)}
    stores = (node for node in ast.walk(piece) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return tuple(sorted(found | {node.id for node in stores if node.lineno < line}))


def _patched(text: str, node: ast.expr | ast.stmt, word: str) -> str:
    """The text with a node replaced, in parentheses only where they matter."""
    data = text.encode()
    starts = [0, *itertools.accumulate(len(line) for line in data.splitlines(keepends=True))]
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
    bare, braced = (f"{data[:begin].decode()}{one}{data[end:].decode()}" for one in (word, f"({word})"))
    return braced if _parsed(braced) not in ("", _parsed(bare)) else bare


def _parsed(text: str) -> str:
    """What decides whether two texts are the same code; empty when there is a syntax error."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def _fates(every: Sequence[Mutant], jobs: int) -> Iterator[Fate]:
    chunks = [every[first : first + CHUNK] for first in range(0, len(every), CHUNK)]
    if jobs == 1:
        yield from itertools.chain.from_iterable(map(_judged, chunks))
        return
    os.environ.update(THREADS)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from itertools.chain.from_iterable(pool.map(_judged, chunks))


def _judged(chunk: Sequence[Mutant]) -> list[Fate]:
    with Judge(LIMITS) as judge:
        return [_fate(judge, mutant) for mutant in chunk]


def _fate(judge: Judge, mutant: Mutant) -> Fate:
    """The level of the first check that fails, the core first: nothing after it matters."""
    path = outline.SOLUTIONS / f"{mutant.kata}.py"
    grading = Grading(judge, mutant.kata, path, mutant.source.encode(), seed=0)
    try:
        for check in sorted(registry.kata(mutant.kata).checks, key=lambda check: check.level != "core"):
            outcome = grading.run(check).outcome
            if outcome == "error":
                raise RuntimeError(f"{check.name} itself fails on {mutant.line} -> {mutant.became}")
            if outcome == "failed":
                return check.level
    finally:
        grading.close()
    return "alive"


def _tried(name: str, some: Sequence[Mutant], fates: Sequence[Fate], unmet: set[Key]) -> Tried:
    problems = [f"{line} -> {became}: is listed, and is no mutant" for _, line, became in sorted(unmet)]
    explained = list[Fate]()
    for mutant, fate in zip(some, fates, strict=True):
        wanted = listed().get(mutant.key, "follow-up" if mutant.guard and fate == "follow-up" else "core")
        if fate == wanted:
            explained.append(fate)
        else:
            problems.append(f"{mutant.line} -> {mutant.became}: {_words(fate)}, should be {_words(wanted)}")
    count = explained.count
    return Tried(name, len(some), count("core"), count("follow-up"), count("alive"), tuple(problems))


def _words(fate: Fate) -> str:
    return "alive" if fate == "alive" else f"told by the {fate} checks"
