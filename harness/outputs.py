"""What an answer consists of: an array, a number, or a tuple of these and of what only its maker reads, like a cache.

What is right decides which parts are compared: its arrays and numbers are, anything else is its maker's business. A
number is compared as an array without axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def places(want: Any) -> list[int]:
    """Which parts of a right answer are compared, by their index; [0] when it is no tuple."""
    return [n for n, part in enumerate(want) if _is_number(part)] if isinstance(want, tuple) else [0]


def parts(value: Any, want: Any) -> list[Any] | None:
    """The parts of an answer that are compared; None when it should be a tuple, and is none of that length."""
    if not isinstance(want, tuple):
        return [_array(value, want)]
    if type(value) not in (tuple, list) or len(value) != len(want):
        return None
    return [_array(value[n], want[n]) for n in places(want)]


def wanted(want: Any) -> list[Array]:
    """The parts of a right answer, as arrays."""
    found: list[Array] = parts(want, want) or []
    return found


def freeze(value: Any) -> None:
    """Let nobody write into the arrays of a value that is kept."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            freeze(item)


def _is_number(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | int | float) and not isinstance(value, bool)


def _array(value: Any, want: Any) -> Any:
    """A number as an array, where one is wanted; anything else as it is."""
    if isinstance(want, np.ndarray) or not _is_number(value) or np.size(value) != 1:
        return value
    return np.asarray(value, dtype=float).reshape(())
