"""Two sources side by side, function by function: as data, in two columns, or as a diff. No colour is needed."""

from __future__ import annotations

import ast
import difflib
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SAME, CHANGED, YOURS, THEIRS = " ", "|", "<", ">"


class Row(NamedTuple):
    """A line of each, and how they relate: the same, changed, or only in one (then the other is None)."""

    mark: str
    yours: str | None
    theirs: str | None


class Part(NamedTuple):
    """A function of both, of one, or what stands outside of functions ('')."""

    name: str
    rows: tuple[Row, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return all(row.mark == SAME for row in self.rows)


def parts(yours: str, theirs: str) -> list[Part]:
    """Both sources in pieces, aligned by function, in the order of the solution; what only the person has goes last.

    Docstrings, comments on lines of their own, and blank lines are left out. A function of another name that is written
    alike stands beside its twin.
    """
    mine, other = pieces(yours), pieces(theirs)
    twins = _twins(mine, other)
    found = [Part(_title(twins.get(n), n), tuple(rows(mine.get(twins.get(n, ""), []), other[n]))) for n in other]
    left = [name for name in mine if name not in twins.values()]
    return [part for part in (*found, *(Part(n, tuple(rows(mine[n], []))) for n in left)) if part.rows]


def pieces(source: str) -> dict[str, list[str]]:
    """The lines of each function, and under '' those outside of functions; SyntaxError when it is no Python."""
    tree, lines = ast.parse(source), source.splitlines()
    hidden = {n for node in ast.walk(tree) for n in _docstring(node)}
    hidden |= {n for n, line in enumerate(lines, 1) if not line.strip() or line.lstrip().startswith("#")}
    found: dict[str, list[str]] = {"": []}
    for node in tree.body:
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        kept = [lines[n - 1].expandtabs() for n in range(first, (node.end_lineno or first) + 1) if n not in hidden]
        found[name] = [*found.get(name, []), *kept]
    return found


def rows(yours: Sequence[str], theirs: Sequence[str]) -> Iterator[Row]:
    """The lines of one function beside those of the other."""
    matcher = difflib.SequenceMatcher(None, [_plain(y) for y in yours], [_plain(t) for t in theirs], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        mark = SAME if tag == "equal" else CHANGED
        for n in range(max(b - a, d - c)):
            mine = yours[a + n] if a + n < b else None
            other = theirs[c + n] if c + n < d else None
            yield Row(THEIRS if mine is None else YOURS if other is None else mark, mine, other)


def columns(found: Sequence[Part], width: int) -> list[str]:
    """Two columns with the marks between them: | for changed, < and > for what only one has."""
    half = (width - 3) // 2
    lines = [*_alike(found, width), f"{'yours':<{half}}   solution"]
    for part in (part for part in found if not part.same):
        lines.append("")
        for row in part.rows:
            left, right = _wrapped(row.yours, half), _wrapped(row.theirs, half)
            for n in range(max(len(left), len(right))):
                mine, other = (side[n] if n < len(side) else "" for side in (left, right))
                lines.append(f"{mine:<{half}} {row.mark} {other}".rstrip())
    return lines


def stacked(found: Sequence[Part], width: int) -> list[str]:
    """One column, as a diff by function: - yours, + the solution's."""
    lines = _alike(found, width)[:-1]
    for part in (part for part in found if not part.same):
        lines.append("")
        for differs, group in itertools.groupby(part.rows, lambda row: row.mark != SAME):
            rows = list(group)
            if differs:
                lines += [f"- {cut}" for row in rows for cut in _wrapped(row.yours, width - 2)]
                lines += [f"+ {cut}" for row in rows for cut in _wrapped(row.theirs, width - 2)]
            else:
                lines += [f"  {cut}" for row in rows for cut in _wrapped(row.theirs, width - 2)]
    return lines


def _alike(found: Sequence[Part], width: int) -> list[str]:
    """One sentence for all that is the same, and a blank line."""
    names = [part.name or "the imports" for part in found if part.same]
    return [*textwrap.wrap(f"The same in both: {', '.join(names)}.", width), ""] if names else []


def _wrapped(line: str | None, width: int) -> list[str]:
    """A line of code in pieces of at most `width`; at most four, whatever was written; none of None."""
    if line is None:
        return []
    if len(line) <= width:
        return [line]
    inset = " " * min(len(line) - len(line.lstrip()) + 4, width // 2)
    cut = textwrap.wrap(line, width, subsequent_indent=inset, break_on_hyphens=False, drop_whitespace=True)
    return cut if len(cut) <= 4 else [*cut[:3], f"{inset}[...]"]


def _plain(line: str) -> str:
    """A line without its spacing and its comment, for comparison."""
    code = line.split("  #")[0]
    return "".join(code.split()) + f"@{len(line) - len(line.lstrip())}"


def _title(mine: str | None, name: str) -> str:
    return f"{mine} (in the solution: {name})" if mine and mine != name else name


def _twins(mine: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, str]:
    """The person's name for each of the solution's functions: the same name, or a body that is much alike."""
    twins = {name: name for name in other if name in mine}
    for name in other:
        free = [n for n in mine if n and n not in twins.values() and n not in other]
        if name and name not in twins and free:
            near = max(free, key=lambda n: _likeness(mine[n], other[name]))
            if _likeness(mine[near], other[name]) >= 0.6:
                twins[name] = near
    return twins


def _likeness(mine: Sequence[str], other: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, "\n".join(mine[1:]), "\n".join(other[1:]), autojunk=False).ratio()


def _docstring(node: ast.AST) -> range:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and len(body) > 1 else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return range(first.lineno, (first.end_lineno or first.lineno) + 1)
    return range(0)
