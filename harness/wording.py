"""A call in words: the line that a person would type, and below it what its arguments are."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.model import Call
from harness.wire import Array, Carried


def describe(call: Call) -> tuple[str, list[str]]:
    """The call in one line, and below it what its arrays are: `split_heads(x, 2)`, `x is float64 (2, 3, 8)`."""
    words, where = [], []
    for index, value in enumerate(call.args):
        name = call.names[index] if index < len(call.names) else f"argument {index}"
        if isinstance(value, np.ndarray):
            words.append(name)
            where.append(_argument(name, value))
        elif isinstance(value, Mapping | list):
            words.append(name)
            where.append(f"{name}: {_inside(value)}")
        elif isinstance(value, Carried | np.random.Generator):
            words.append(name)
            where.append(_origin(name, value))
        else:
            words.append(repr(value))
    return f"{call.function}({', '.join(words)})", ["\n".join(where)] if where else []


def _inside(value: Any) -> str:
    """The shapes in a dict or a list; layers that are all alike are shown once."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_inside(item)}" for key, item in value.items())
    if isinstance(value, list):
        each = list(dict.fromkeys(map(_inside, value)))
        return f"{len(value)} x [{each[0]}]" if len(each) == 1 else f"[{'; '.join(each)}]"
    return str(np.shape(value))


def _origin(name: str, value: Carried | np.random.Generator) -> str:
    if isinstance(value, np.random.Generator):
        return f"{name}: a numpy.random.Generator"
    return f"{name}: what {describe(value.call)[0]} returned"


def _argument(name: str, value: Array) -> str:
    if 0 < value.size <= 12:
        return textwrap.fill(
            f"{name} = np.array({_literal(value.tolist())})", 72, subsequent_indent=" " * (len(name) + 12)
        )
    return f"{name}: {value.dtype} {value.shape}"


def _literal(entries: Any) -> str:
    if isinstance(entries, list):
        return f"[{', '.join(map(_literal, entries))}]"
    if isinstance(entries, float) and not np.isfinite(entries):
        return "np.nan" if entries != entries else "-np.inf" if entries < 0 else "np.inf"
    return f"{entries:.6g}" if isinstance(entries, float) and entries != int(entries) else repr(entries)
