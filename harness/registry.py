"""Loads the katas: their checks and, by path, their solutions. No other module does."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable
from functools import cache
from types import CodeType
from typing import Any

from harness.kata import Form, Kata
from harness.model import Signature
from harness.outline import SOLUTIONS, names

MOST = 512  # patched solutions that are kept, of one kata


@cache
def kata(name: str) -> Kata:
    """A kata with its checks and mistakes."""
    loaded: Kata = importlib.import_module(f"harness.checks.{name}").KATA
    loaded.name = name
    return loaded


def nearest(word: str) -> str | None:
    """The kata whose name is close to a word, for 'did you mean'."""
    import difflib  # only a typo needs it

    return next(iter(difflib.get_close_matches(word, names(), 1, 0.5)), None)


@cache
def solution(name: str) -> Solution:
    """A kata's solution, ready to be patched."""
    return Solution((SOLUTIONS / f"{name}.py").read_text(encoding="utf-8"), name)


@cache
def wanted(name: str) -> dict[str, Signature]:
    """What a submission must define."""
    return {function: solution(name).signature(function) for function in kata(name).functions}


class Functions:
    """What a solution, patched or not, defines."""


class Solution:
    """A solution's source in pieces, so that a patch compiles only the function that it touches."""

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        tree, lines = ast.parse(source), source.splitlines()
        body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
        self._nodes = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self._pieces = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in body]
        self._compiled: dict[str, CodeType] = {}
        self._references: dict[Form, Functions] = {}

    def signature(self, function: str) -> Signature:
        """A function's signature, without its annotations."""
        args = self._nodes[function].args
        plain = tuple(arg.arg for arg in args.args)
        given = [self._line(value) for value in args.defaults]
        required = len(plain) - len(given)
        words = [*plain[:required], *(f"{n}={value}" for n, value in zip(plain[required:], given, strict=True))]
        return Signature(f"{function}({', '.join(words)})", plain, required)

    def _line(self, node: ast.expr) -> str:
        """A short expression as it is written; `ast.get_source_segment` takes a thousand times as long."""
        return self.source.splitlines()[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()

    def places(self, form: Form) -> set[tuple[int, int]]:
        """The lines that a form touches, as (piece, line); ValueError unless each patch matches exactly once."""
        found = set()
        for old, _ in form:
            piece, at = self._find(old)
            first = self._pieces[piece].count("\n", 0, at)
            found |= {(piece, line) for line in range(first, first + old.count("\n") + 1)}
        return found

    def _find(self, old: str) -> tuple[int, int]:
        where = [(n, piece.index(old)) for n, piece in enumerate(self._pieces) if old in piece]
        if len(where) != 1 or self._pieces[where[0][0]].count(old) != 1:
            raise ValueError(f"{self.name}: the patch {old!r} must match exactly once, in one function")
        return where[0]

    def patched(self, form: Iterable[tuple[str, str]]) -> str:
        """The whole source with a form applied: a submission that makes the mistake."""
        return "\n\n\n".join(self._patch(form)) + "\n"

    def _patch(self, form: Iterable[tuple[str, str]]) -> list[str]:
        pieces = list(self._pieces)
        for old, new in form:
            piece, _ = self._find(old)
            if pieces[piece].count(old) != 1:
                raise ValueError(f"{self.name}: the patch {old!r} overlaps another")
            pieces[piece] = pieces[piece].replace(old, new)
        return pieces

    def reference(self, form: Form = ()) -> Any:
        """The solution's functions, or a mistake's when a form is given, to call in this process. Made once."""
        if form not in self._references:
            if len(self._references) >= MOST:
                self._references.clear()
            self._references[form] = self._execute(form)
        return self._references[form]

    def _execute(self, form: Form) -> Functions:
        scope: dict[str, Any] = {"__name__": f"solutions.{self.name}"}
        for piece in self._patch(form):
            if piece not in self._compiled:
                self._compiled[piece] = compile(piece, f"<{self.name}>", "exec")
            exec(self._compiled[piece], scope)
        functions = Functions()
        vars(functions).update({name: value for name, value in scope.items() if not name.startswith("__")})
        return functions
