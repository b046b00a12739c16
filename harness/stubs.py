"""The stub is the solution with its answers taken out; a person's file is untouched while its code still equals it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence


def derive(solution: str, functions: Sequence[str]) -> str:
    """The stub of a solution: its docstring and imports, and the functions' signatures with nothing inside."""
    tree, lines = ast.parse(solution), solution.splitlines()
    parts, end = [], 0
    for node in tree.body:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            if node.name in functions:
                head = "\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1])
                parts.append(f"\n\n{head}\n    raise NotImplementedError")
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            parts.append(f"\n{text}" if parts and node.lineno > end + 1 else text)
        end = node.end_lineno or end
    return "\n".join(parts) + "\n"


def prompt(source: str, short: bool = False) -> str:
    """A kata's prompt, its module docstring; the short one ends before the line `Contract`."""
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\nContract\n")[0].rstrip() if short else text


def spoken(stub: str, short: bool = False) -> str:
    """A stub's prompt as an interviewer says it: without its minutes."""
    title, _, said = prompt(stub, short).partition("\n")
    return f"{title.split(' · ')[0]}\n{said}"


def with_prompt(words: str, code: str) -> str:
    """A file of a prompt and code."""
    return f'"""{words}\n"""\n\n{code.strip()}\n'


def bare(stub: str) -> str:
    """A stub's code alone, without its prompt."""
    first = ast.parse(stub).body[1]
    return "\n".join(stub.splitlines()[first.lineno - 1 :])


def carried(stub: str, source: str) -> str:
    """The code of a person's earlier file, and below it what a stub asks for. SyntaxError when theirs is no Python."""
    theirs, new = ast.parse(source), ast.parse(stub)
    body = theirs.body[1:] if ast.get_docstring(theirs) is not None else theirs.body
    first = body[0].lineno if body else len(source.splitlines()) + 1
    asked = next(node for node in new.body if isinstance(node, ast.FunctionDef))
    code = "\n".join(source.splitlines()[first - 1 :]).rstrip()
    return f"{code}\n\n\n" + "\n".join(stub.splitlines()[asked.lineno - 1 :])


def may_be_stub(source: bytes) -> bool:
    """A first look, which costs nothing: every stub raises NotImplementedError."""
    return b"NotImplementedError" in source


def untouched(source: bytes, stub: str) -> bool:
    """Whether a file's code is still the stub's. Comments, blank lines and docstrings may differ."""
    plain = stub.encode()
    if source == plain:
        return True
    if len(source) > 8 * len(plain):  # so much text is no stub, and parsing it might be an attack
        return False
    try:
        return _code(source) == _code(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _code(source: bytes) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def defined_at(source: bytes, function: str) -> int | None:
    """The line (from 0) where a file's text defines a function, by def, class or assignment; None when it does not."""
    name = re.escape(function).encode()
    found = re.search(rb"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+%b\b|%b\s*[:=])" % (name, name), source, re.M)
    return source.count(b"\n", 0, found.start()) if found else None
