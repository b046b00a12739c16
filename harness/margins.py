"""How far answers lie from the tolerances that judge them: a proof that no verdict is a matter of luck."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from harness.wire import Array


class Seen:
    """Differences as multiples of their tolerances: the largest accepted, the largest refused."""

    near, far = 0.0, 0.0


_SEEN: list[Seen] = []


@contextlib.contextmanager
def watched() -> Iterator[Seen]:
    """Note the comparisons that are made in this block."""
    _SEEN.append(Seen())
    try:
        yield _SEEN[-1]
    finally:
        _SEEN.pop()


def note(apart: Array, most: float, off: Array) -> None:
    """One comparison: the differences, the tolerance, and where they are refused."""
    for seen in _SEEN:
        if off.any():
            largest = float(np.where(np.isfinite(apart), apart, np.inf)[off].max())
            seen.far = max(seen.far, largest / most if most else np.inf)
        elif most:
            seen.near = max(seen.near, float(apart[np.isfinite(apart)].max(initial=0.0)) / most)
