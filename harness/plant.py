"""Code for debugging interviews: an implementation that looks as if it worked, with catalogued mistakes in it."""

from __future__ import annotations

import ast
import copy
import doctest
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from typing import Any

import numpy as np

from harness import expect, probe, registry, stubs
from harness.kata import Form
from harness.model import Answer, Call, Raised, Submission, Wrong
from harness.wire import Array

Pick = tuple[str, int]
Values = tuple[tuple[Array, ...] | None, ...]

MOST = 4
SMALL, LARGE, OF_EACH = 600, 100.0, 3
# What would say 'here': dead code, imports inside a line, chance, casts there and back, terms that do nothing.
GIVEAWAY = re.compile(
    r"\bif (False|True)\b|\bpass\b|import|\bdef\b|random|\b0 \*|[+-] 0\b|1e-\d\d|\.astype\(.*\.astype\("
)
# Names that say what a line is meant to do, which a patched line may not do.
NEUTRAL = dict.fromkeys(("future", "past", "causal", "blocked", "hidden_keys", "masked"), "mask") | {"projected": "out"}


def picks(name: str, count: int, rng: random.Random) -> tuple[Pick, ...]:
    """Draw mistakes that live side by side. ValueError when the kata cannot hold so many.

    All are faults of the core, under which every answer keeps its shape and stays finite. If a kata has too few of
    them, first NaN, other shapes and exceptions are allowed, then conventions.
    """
    if count < 1:
        raise ValueError(f"at least 1 mistake must be planted, not {count}")
    for faults, looks in ((True, True), (True, False), (False, True), (False, False)):
        found = _grow(name, count, (), _shuffled(name, faults, rng), looks) if count <= MOST else ()
        if found:
            return found
    room = next((n for n in range(min(count - 1, MOST), 0, -1) if _room(name, n)), 0)
    raise ValueError(f"{name} has room for {room} mistake{'' if room == 1 else 's'}")


@cache
def _room(name: str, count: int) -> bool:
    try:
        return bool(picks(name, count, random.Random(0)))
    except ValueError:
        return False


def _shuffled(name: str, faults: bool, rng: random.Random) -> list[Pick]:
    """The picks in a random order, in which a mistake of many forms stands no more in front than one of few."""
    by_name: dict[str, list[Pick]] = {}
    for pick in _candidates(name, faults):
        by_name.setdefault(pick[0], []).append(pick)
    order = rng.sample(list(by_name.values()), len(by_name))
    return [pick for forms in order for pick in rng.sample(forms, len(forms))]


def _grow(name: str, count: int, chosen: tuple[Pick, ...], rest: Sequence[Pick], looks: bool) -> tuple[Pick, ...]:
    """The first mixture of `count` mistakes in the order of `rest`, or nothing."""
    if len(chosen) == count:
        return chosen
    for number, pick in enumerate(rest, start=1):
        more = (*chosen, pick)
        if _apart(name, chosen, pick) and _sound(name, frozenset(more), looks):
            found = _grow(name, count, more, rest[number:], looks)
            if found:
                return found
    return ()


def _apart(name: str, chosen: Sequence[Pick], pick: Pick) -> bool:
    """Whether a mistake is not chosen yet and touches no line of the chosen ones."""
    places = registry.solution(name).places
    mine = places(_form(name, (pick,)))
    return all(pick[0] != other[0] and not mine & places(_form(name, (other,))) for other in chosen)


@cache
def _sound(name: str, mixture: frozenset[Pick], looks: bool) -> bool:
    """Whether every part of a mixture answers otherwise than every other part, and than any single mistake."""
    try:
        parts = {part: _values(name, part) for part in _parts(mixture)}
    except ValueError:  # the patches get into each other's way
        return False
    right = parts[frozenset()]
    if looks and not all(_works(got, right) for got in parts.values()):
        return False
    singles = [frozenset([pick]) for pick in _candidates(name, False)]
    others = parts | {single: _values(name, single) for single in singles if len(mixture) > 1}
    whole = parts.pop(mixture)
    return not any(_agree(whole, got) for part, got in others.items() if part != mixture)


def _parts(mixture: frozenset[Pick]) -> Iterator[frozenset[Pick]]:
    sizes = range(len(mixture) + 1)
    return (frozenset(part) for part in chain(*(combinations(sorted(mixture), size) for size in sizes)))


@cache
def _candidates(name: str, faults: bool) -> tuple[Pick, ...]:
    """Every form of a core mistake that changes an answer and does not give itself away."""
    found = []
    for mistake in registry.kata(name).mistakes:
        if mistake.level == "core" and not (faults and mistake.kind != "fault"):
            each = ((mistake.name, number) for number in range(len(mistake.forms)))
            found += [pick for pick in each if _discreet(name, pick)]
    right = _values(name, frozenset())
    return tuple(pick for pick in found if not _agree(_values(name, frozenset([pick])), right))


def _discreet(name: str, pick: Pick) -> bool:
    if any(GIVEAWAY.search(new) for _, new in _form(name, (pick,))):
        return False
    tree = ast.parse(planted(name, (pick,)))
    aside = (n for n in ast.walk(tree) if isinstance(n, ast.Assign) and len(n.targets) == 1)
    return all(ast.unparse(n.targets[0]) != ast.unparse(n.value) for n in aside) and bool(_lines(name, (pick,), pick))


def _form(name: str, picks: Sequence[Pick]) -> Form:
    """The patches of some mistakes, in one order whatever theirs is."""
    forms = {mistake.name: mistake.forms for mistake in registry.kata(name).mistakes}
    return tuple(patch for which, number in sorted(picks) for patch in forms[which][number])


class _Recorder(Submission):
    """The reference as a submission, in this process, which keeps the calls that checks make."""

    def __init__(self, name: str) -> None:
        self.signatures = registry.wanted(name)
        self.calls: list[Call] = []
        self._reference = registry.solution(name).reference()

    def ask(self, calls: Sequence[Call]) -> list[Answer]:
        self.calls += calls
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        try:
            return Answer(getattr(self._reference, call.function)(*copy.deepcopy(call.args)))
        except Exception as error:
            bases = tuple(base.__name__ for base in type(error).__mro__)
            return Answer(raised=Raised(type(error).__name__, str(error), bases))


@cache
def _calls(name: str) -> tuple[Call, ...]:
    """Ordinary small calls, a few of each core check."""
    found: list[Call] = []
    for check in registry.kata(name).checks:
        if check.level == "core":
            recorder = _Recorder(name)
            try:
                check.function(recorder, registry.solution(name).reference(), probe.generator(0, name, check.name))
            except Wrong:  # such as a check of what the judge alone can see
                pass
            found += [call for call in recorder.calls if _ordinary(call)][:OF_EACH]
    return tuple(found)


def _ordinary(call: Call) -> bool:
    arrays = _arrays(call.args)
    finite = [np.abs(a[np.isfinite(a)]).max(initial=0) for a in arrays]
    return sum(a.size for a in arrays) <= SMALL and all(top <= LARGE for top in finite)


@cache
def _values(name: str, mixture: frozenset[Pick]) -> Values:
    """What code with these mistakes gives for the prompt's examples and for the calls; None where it raises."""
    functions = registry.solution(name).reference(_form(name, tuple(mixture)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        shown = tuple(_shown(name, dict(vars(functions))))
        asked = [_value(lambda c=call: getattr(functions, c.function)(*copy.deepcopy(c.args))) for call in _calls(name)]
    return (*shown, *asked)


def _value(run: Any) -> tuple[Array, ...] | None:
    try:
        return tuple(_arrays(run()))
    except Exception:
        return None


def _shown(name: str, scope: dict[str, Any]) -> Iterator[tuple[Array, ...] | None]:
    """The values of the expressions among the prompt's `>>>` lines."""
    for example in doctest.DocTestParser().get_examples(stubs.prompt(registry.solution(name).source)):
        if example.want:
            yield _value(lambda text=example.source: eval(text.strip(), scope))
        else:
            exec(example.source, scope)


def _arrays(value: Any) -> list[Array]:
    """The arrays and numbers in a value, in order."""
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return [np.asarray(value)]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [array for item in inside for array in _arrays(item)]


def _works(got: Values, right: Values) -> bool:
    """Whether answers look as if the code worked: no exception, the right shapes, and finite."""
    return all(
        a is not None
        and b is not None
        and [x.shape for x in a] == [x.shape for x in b]
        and all(np.isfinite(x).all() for x in a)
        for a, b in zip(got, right, strict=True)
    )


def _agree(one: Values, other: Values) -> bool:
    return all(
        a is b if a is None or b is None else len(a) == len(b) and all(map(_same, a, b))
        for a, b in zip(one, other, strict=True)
    )


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype.kind == b.dtype.kind and not expect.differs(a, b).any()


def planted(name: str, picks: Sequence[Pick]) -> str:
    """The code that is handed over: imports and functions, in one layout and under neutral names."""
    tree = ast.parse(registry.solution(name).patched(_form(name, picks)))
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        if ast.get_docstring(function) is not None:
            del function.body[0]
        _rename(function)
    parts = [_text(node) for node in tree.body]
    return "\n\n\n".join(parts) + "\n"


def _rename(function: ast.FunctionDef) -> None:
    """Give neutral names to the variables of a function whose names say what they are meant to be."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    taken = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} | {node.id for node in names}
    own = dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store))
    new: dict[str, str] = {}
    for word in own:
        plain = NEUTRAL.get(word) or ("h" if word.endswith("ed") else "")
        if plain:
            free = (plain, *(f"{plain}{n}" for n in range(2, 99)))
            new[word] = next(other for other in free if other not in taken)
            taken.add(new[word])
    for node in names:
        node.id = new.get(node.id, node.id)


def _text(node: ast.stmt) -> str:
    """A statement as a person would write it: short powers of ten, and a long signature over several lines."""
    text = re.sub(r"\b1(0{4,})\.0\b", lambda found: f"1e{len(found[1])}", ast.unparse(node))
    text = re.sub(r"(?<=\d)e-0(\d)\b", r"e-\1", text)
    text = re.sub(r"^( *[\w, ]+ = )\(([^()]*(?:\([^()]*\)[^()]*)*)\)$", r"\1\2", text, flags=re.MULTILINE)
    if not isinstance(node, ast.FunctionDef):
        return text
    head, body = text.split("\n", 1)
    for arg in node.args.args:
        head = re.sub(rf"(\b{arg.arg}: [^=]*?)=", r"\1 = ", head, count=1)
    if len(head) > 100:
        opened, _, closed = head.partition("(")
        inside, _, returns = closed.rpartition(")")
        head = f"{opened}(\n    {inside}\n){returns}"
    return f"{head}\n{body}"


def left(name: str, picks: Sequence[Pick], source: bytes) -> tuple[str, ...]:
    """The planted mistakes of which a line still stands in a file; all of them when it does not parse."""
    try:
        stands = _statements(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(which for which, _ in picks)
    return tuple(pick[0] for pick in picks if any(stands[s] >= n for s, n in _lines(name, picks, pick).items()))


def _lines(name: str, picks: Sequence[Pick], pick: Pick) -> dict[tuple[str, str], int]:
    """The statements that one of the mistakes brings, with how often each stands in the planted code."""
    here, mended = (_statements(ast.parse(planted(name, some))) for some in (picks, [p for p in picks if p != pick]))
    return {statement: here[statement] for statement in here - mended}


def _statements(tree: ast.Module) -> Counter[tuple[str, str]]:
    """The statements of each function, without those inside them, and how often they stand there."""
    found: Counter[tuple[str, str]] = Counter()
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and node is not function:
                head = copy.copy(node)
                for inside in {"body", "orelse", "finalbody", "handlers"} & set(head._fields):
                    setattr(head, inside, [])
                found[function.name, ast.dump(head)] += 1
    return found
