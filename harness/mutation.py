"""The rules of machine-made mistakes: what could stand in a place of a solution instead of what stands there."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mult),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.Pow: (ast.Mult, ast.Div),
    ast.MatMult: (ast.Mult, ast.Add),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.Lt: (ast.LtE, ast.GtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt, ast.Eq),
    ast.Gt: (ast.GtE, ast.LtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt, ast.Eq),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
TWINS = {
    "max": ("min", "mean"),
    "min": ("max",),
    "sum": ("mean", "max"),
    "mean": ("sum", "max"),
    "var": ("std",),
    "triu": ("tril",),
    "tril": ("triu",),
    "ones": ("zeros",),
    "zeros": ("ones",),
    "exp": ("exp2", "expm1"),
    "log": ("log2", "log1p"),
    "sqrt": ("cbrt", "square"),
    "tanh": ("arctan", "sin"),
    "sin": ("cos",),
    "cos": ("sin",),
    "any": ("all",),
    "all": ("any",),
    "argmax": ("argmin",),
    "pi": ("e",),
    "ValueError": ("TypeError",),
}
AXES = ("0", "1", "2", "-1", "-2", "None")
SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Return)


class Place(NamedTuple):
    """A part of a solution that may change, with the names and keys that could stand in it."""

    node: ast.expr | ast.stmt
    names: tuple[str, ...]
    keys: tuple[str, ...]
    guard: bool


def _with(node: Any, **fields: Any) -> Any:
    """A copy of a node with other fields."""
    new = copy.copy(node)
    for field, value in fields.items():
        setattr(new, field, value)
    return new


def changes(place: Place) -> Iterator[ast.AST]:
    """What could stand in a place instead."""
    node = place.node
    if isinstance(node, SIMPLE):
        yield ast.Pass()
    for kind, rule in RULES.items():
        if isinstance(node, kind):
            yield from rule(node, place)


def _binary(node: ast.BinOp, _: Place) -> Iterator[ast.AST]:
    for other in OPERATORS.get(type(node.op), ()):
        yield _with(node, op=other())
    if not isinstance(node.op, ast.Add | ast.Mult):
        yield _with(node, left=node.right, right=node.left)
    yield from (node.left, node.right)


def _boolean(node: ast.BoolOp, _: Place) -> Iterator[ast.AST]:
    for other in OPERATORS[type(node.op)]:
        yield _with(node, op=other())
    yield ast.UnaryOp(ast.Not(), node)
    for gone in range(len(node.values)):
        rest = node.values[:gone] + node.values[gone + 1 :]
        yield _with(node, values=rest) if len(rest) > 1 else rest[0]


def _compare(node: ast.Compare, _: Place) -> Iterator[ast.AST]:
    for number, op in enumerate(node.ops):
        for other in OPERATORS[type(op)]:
            yield _with(node, ops=[*node.ops[:number], other(), *node.ops[number + 1 :]])


def _unary(node: ast.UnaryOp, _: Place) -> Iterator[ast.AST]:
    yield node.operand


def _constant(node: ast.Constant, _: Place) -> Iterator[ast.AST]:
    value = node.value
    values: tuple[Any, ...] = ()
    if isinstance(value, bool):
        values = (not value,)
    elif isinstance(value, int):
        values = (value + 1, value - 1, -value, 0, 2 * value)
    elif isinstance(value, float):
        values = (-value, 0.0, 2 * value, value / 2, value * 1.01, value + 1)
    for other in values:
        yield ast.Constant(other)


def _name(node: ast.Name, place: Place) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for other in TWINS.get(node.id, place.names if node.id in place.names else ()):
            yield _with(node, id=other)


def _attribute(node: ast.Attribute, _: Place) -> Iterator[ast.AST]:
    for other in TWINS.get(node.attr, ()):
        yield _with(node, attr=other)
    if node.attr == "T":
        yield node.value


def _call(node: ast.Call, _: Place) -> Iterator[ast.AST]:
    args, words, func = node.args, node.keywords, node.func
    library = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "np"
    if isinstance(func, ast.Attribute) and not library:
        yield func.value
    elif args:
        yield args[0]
    for gone in range(len(args)):
        yield _with(node, args=args[:gone] + args[gone + 1 :])
    for gone, word in enumerate(words):
        rest = words[:gone], words[gone + 1 :]
        yield _with(node, keywords=[*rest[0], *rest[1]])
        for axis in AXES if word.arg == "axis" else ():
            value = ast.parse(axis, mode="eval").body
            yield _with(node, keywords=[*rest[0], _with(word, value=value), *rest[1]])
    for swapped in _swaps(args):
        yield _with(node, args=swapped)


def _swaps(items: list[Any]) -> Iterator[list[Any]]:
    """A list with two of its items exchanged, in every way."""
    for one, two in combinations(range(len(items)), 2):
        new = list(items)
        new[one], new[two] = new[two], new[one]
        yield new


def _tuple(node: ast.Tuple, _: Place) -> Iterator[ast.AST]:
    names = all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts)
    for swapped in () if names else _swaps(node.elts):  # names are listed in any order
        yield _with(node, elts=swapped)
    for gone in range(len(node.elts)):
        yield _with(node, elts=node.elts[:gone] + node.elts[gone + 1 :])


def _slice(node: ast.Subscript, place: Place) -> Iterator[ast.AST]:
    yield node.value
    part = node.slice
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        for key in place.keys:
            yield _with(node, slice=ast.Constant(key))
    if isinstance(part, ast.Slice):
        for side in ("lower", "upper"):
            bound, one = getattr(part, side), ast.Constant(1)
            if bound is None:
                yield _with(node, slice=_with(part, **{side: one if side == "lower" else ast.Constant(-1)}))
                continue
            yield _with(node, slice=_with(part, **{side: None}))
            for op in (ast.Add, ast.Sub):
                yield _with(node, slice=_with(part, **{side: ast.BinOp(bound, op(), one)}))


def _return(node: ast.Return, _: Place) -> Iterator[ast.AST]:
    if node.value:
        yield _with(node, value=ast.UnaryOp(ast.USub(), node.value))
        yield _with(node, value=ast.BinOp(ast.Constant(2), ast.Mult(), node.value))


def _choice(node: ast.IfExp, _: Place) -> Iterator[ast.AST]:
    yield _with(node, body=node.orelse, orelse=node.body)


RULES: dict[type[ast.AST], Any] = {
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Tuple: _tuple,
    ast.Subscript: _slice,
    ast.Return: _return,
    ast.IfExp: _choice,
}
