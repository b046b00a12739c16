"""Code for debugging interviews: an implementation that looks as if it worked, with catalogued mistakes in it."""

from __future__ import annotations

import ast
import doctest
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, combinations
from typing import Any

import numpy as np

from harness import expect, registry, stubs
from harness.kata import Form
from harness.recorder import arrays, called, few
from harness.wire import Array

Pick = tuple[str, int]
Picks = tuple[Pick, ...]
Values = list[list[Array]]

MOST = 4
# What would say 'here': dead code, an import inside a line, chance, casts there and back, terms that do nothing.
GIVEAWAY = re.compile(r"\bif (False|True)|\bpass\b|import|\bdef |random|\b0 \*|[+-] 0\b(?!\.)|1e-\d\d|astype\(.*astype")
# Names that say what a line is meant to do, which a patched line may not do. A name in -ed becomes h.
NEUTRAL = dict.fromkeys(("future", "past", "causal", "visible", "blocked", "masked"), "mask") | {"projected": "out"}


def picks(name: str, count: int, rng: random.Random) -> Picks:
    """Draw mistakes that live side by side. ValueError when the kata cannot hold so many.

    All are faults of the core, under which every answer keeps its shape and stays finite. If a kata has too few of
    them, NaN, other shapes and exceptions are allowed first, then conventions.
    """
    found = _drawn(name, count, rng)
    if found is not None:
        return found
    room = next(n for n in range(MOST, -1, -1) if _drawn(name, n, random.Random(0)) is not None)
    raise ValueError(f"{name} has room for {room} mistake{'' if room == 1 else 's'}")


def _drawn(name: str, count: int, rng: random.Random) -> Picks | None:
    tiers = ((True, True), (True, False), (False, True), (False, False)) if 0 <= count <= MOST else ()
    each = (_mixtures(name, count, (), _shuffled(name, faults, rng), works) for faults, works in tiers)
    return next(chain.from_iterable(each), None)


def _shuffled(name: str, faults: bool, rng: random.Random) -> list[Pick]:
    """The picks in a random order, in which a mistake of many forms stands no more in front than one of few."""
    every = _candidates(name, faults)
    order = list(dict.fromkeys(which for which, _ in every))
    rng.shuffle(order)
    return sorted(rng.sample(every, len(every)), key=lambda pick: order.index(pick[0]))


def _mixtures(name: str, count: int, chosen: Picks, rest: Sequence[Pick], works: bool) -> Iterator[Picks]:
    """The mixtures of `count` mistakes in the order of `rest`, each of which touches lines of its own."""
    if len(chosen) == count:
        yield chosen
        return
    taken, places = {which for which, _ in chosen}, registry.solution(name).places
    for number, pick in enumerate(rest, start=1):
        more = (*chosen, pick)
        free = pick[0] not in taken and not places(_form(name, [pick])) & places(_form(name, chosen))
        if free and _sound(name, frozenset(more), works):
            yield from _mixtures(name, count, more, rest[number:], works)


@cache
def _sound(name: str, mixture: frozenset[Pick], works: bool) -> bool:
    """Whether all parts of a mixture answer differently, the whole unlike any single mistake; if asked, all work."""
    sizes = range(len(mixture) + 1)
    parts = [frozenset(part) for part in chain(*(combinations(sorted(mixture), size) for size in sizes))]
    try:
        values = [_values(name, part) for part in parts]
    except ValueError:  # the patches get into each other's way
        return False
    if works and not all(_works(got, values[0]) for got in values):
        return False
    singles = [_values(name, frozenset([pick])) for pick in _candidates(name, False)] if len(mixture) > 1 else []
    pairs = chain(combinations(values, 2), ((values[-1], single) for single in singles))
    return not any(_agree(one, other) for one, other in pairs)


@cache
def _candidates(name: str, faults: bool) -> Picks:
    """Every form of a core mistake that changes an answer and does not give itself away."""
    core = [m for m in registry.kata(name).mistakes if m.level == "core" and (m.kind == "fault" or not faults)]
    every = [(mistake.name, number) for mistake in core for number in range(len(mistake.forms))]
    right = _values(name, frozenset())
    return tuple(p for p in every if _discreet(name, p) and not _agree(_values(name, frozenset([p])), right))


def _discreet(name: str, pick: Pick) -> bool:
    if any(GIVEAWAY.search(new) for _, new in _form(name, [pick])):
        return False
    assigned = [node for node in ast.walk(ast.parse(planted(name, [pick]))) if isinstance(node, ast.Assign)]
    idle = any(ast.unparse(node.targets[0]) == ast.unparse(node.value) for node in assigned)
    return not idle and bool(_brought(name, [pick], pick))


def _form(name: str, picks: Sequence[Pick]) -> Form:
    """The patches of some mistakes, in one order whatever theirs is."""
    forms = {mistake.name: mistake.forms for mistake in registry.kata(name).mistakes}
    return tuple(patch for which, number in sorted(picks) for patch in forms[which][number])


@cache
def _values(name: str, mixture: frozenset[Pick]) -> Values:
    """What code with these mistakes gives for the prompt's examples and for ordinary calls."""
    functions = registry.solution(name).reference(_form(name, list(mixture)))
    scope, values = dict(vars(functions)), list[list[Array]]()
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        for example in doctest.DocTestParser().get_examples(stubs.prompt(registry.solution(name).source)):
            if example.want:
                values.append(_value(eval, example.source, scope))
            else:
                with suppress(Exception):  # what this should have made is missing then, where it is shown
                    exec(example.source, scope)
        return values + [_value(called, functions, call) for call in few(name)]


def _value(function: Callable[..., Any], *args: Any) -> list[Array]:
    """The arrays in a result; none when it raises."""
    with suppress(Exception):
        return arrays(function(*args))
    return []


def _works(got: Values, right: Values) -> bool:
    """Whether answers look as if the code worked: no exception, the right shapes, and finite."""
    shapes = [[[a.shape for a in arrays] for arrays in values] for values in (got, right)]
    return shapes[0] == shapes[1] and all(np.isfinite(a).all() for arrays in got for a in arrays)


def _agree(one: Values, other: Values) -> bool:
    """Whether two codes give the same throughout: shapes, kinds and values."""
    kinds = [[[(a.shape, a.dtype.kind) for a in arrays] for arrays in values] for values in (one, other)]
    pairs = zip(chain(*one), chain(*other), strict=False)
    return kinds[0] == kinds[1] and not any(expect.differs(a, b).any() for a, b in pairs)


def planted(name: str, picks: Sequence[Pick]) -> str:
    """The code that is handed over: imports and functions, in one layout and under neutral names."""
    nodes = ast.parse(registry.solution(name).patched(_form(name, picks))).body
    parts = [_function(node) if isinstance(node, ast.FunctionDef) else ast.unparse(node) for node in nodes]
    return "\n\n\n".join(parts) + "\n"


def _function(node: ast.FunctionDef) -> str:
    """A function as a person would write it: short powers of ten, and a long signature over several lines."""
    node.body = node.body[ast.get_docstring(node) is not None :]
    _rename(node)
    head, body = ast.unparse(node).split("\n", 1)
    body = re.sub(r"\b1(0{4,})\.0\b", lambda found: f"1e{len(found[1])}", body)
    body = re.sub(r"(?<=\de-)0", "", body)
    head = re.sub(r"(?<=[\w\]])=", " = ", head)
    if len(head) > 100:
        head = re.sub(r"\((.*)\)", r"(\n    \1,\n)", re.sub(r", (?=\w+: )", ",\n    ", head), flags=re.DOTALL)
    return f"{head}\n{body}"


def _rename(function: ast.FunctionDef) -> None:
    """Give neutral names to the variables of a function whose names say what they are meant to be."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    given = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    taken, new = {*given, *(node.id for node in names)}, dict[str, str]()
    for word in dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store)):
        plain = NEUTRAL.get(word) or ("h" if word.endswith("ed") else "")
        if plain and word not in given:
            new[word] = next(free for free in (plain, *(f"{plain}{n}" for n in range(2, 99))) if free not in taken)
            taken.add(new[word])
    for node in names:
        node.id = new.get(node.id, node.id)


def left(name: str, picks: Sequence[Pick], source: bytes) -> tuple[str, ...]:
    """The planted mistakes of which a line still stands in a file; all of them when it does not parse."""
    try:
        stands = _statements(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(which for which, _ in picks)
    return tuple(pick[0] for pick in picks if any(stands[s] >= n for s, n in _brought(name, picks, pick).items()))


def _brought(name: str, picks: Sequence[Pick], pick: Pick) -> dict[tuple[str, str], int]:
    """The statements that one of the mistakes brings, with how often each stands in the planted code."""
    some = (picks, [other for other in picks if other != pick])
    here, mended = (_statements(ast.parse(planted(name, these))) for these in some)
    return {statement: here[statement] for statement in here - mended}


def _statements(tree: ast.Module) -> Counter[tuple[str, str]]:
    """How often each statement stands in each function, in one layout; of one that holds others, its first line."""
    return Counter(
        (function.name, ast.unparse(node).partition("\n")[0])
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node is not function
    )
