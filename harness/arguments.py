"""The arguments of a call: the arrays and other values in them by name, and what the call changed of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Watched:
    """The arguments of a call as they are before it, to tell afterwards what it changed."""

    def __init__(self, names: Sequence[str], args: Sequence[Any]) -> None:
        self._names, self._args = names, args
        self._before = {name: (value, _state(value)) for name, value in leaves(names, args).items()}

    def changed(self) -> list[str]:
        """What was written into, exchanged, added or taken out since."""
        before, after = self._before, leaves(self._names, self._args)
        kept = {name for name, (value, was) in before.items() if after.get(name) is value and _state(value) == was}
        return [name for name in {**before, **after} if name not in kept]


def leaves(names: Sequence[str], args: Sequence[Any]) -> dict[str, Any]:
    """The arrays and other values among the arguments, also inside dicts and lists, by their names in a message."""
    found: dict[str, Any] = {}
    for index, value in enumerate(args):
        _add_leaves(found, names[index] if index < len(names) else f"argument {index}", value)
    return found


def _add_leaves(found: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _add_leaves(found, f'{name}["{key}"]', item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _add_leaves(found, f"{name}[{index}]", item)
    else:
        found[name] = value


def _state(value: Any) -> tuple[Any, ...]:
    """What a call must leave as it was: an assignment to x.shape changes the caller's array as well."""
    if not isinstance(value, np.ndarray):
        return ()
    return value.shape, value.dtype.str, value.flags.writeable, value.tobytes()
