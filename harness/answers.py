"""What came over the wire, as an Answer: checked, and safe to print.

Rubbish raises an exception of any kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.model import Answer, Frame, Raised, Traced, Warned
from harness.tracing import ALL_BYTES, ARRAY_BYTES, MOST


def clean(text: Any) -> str:
    """Text from the other side, safe to print anywhere: no lone surrogates, no control characters."""
    if isinstance(text, str) and text.isascii() and text.isprintable():
        return text
    plain = str(text).encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in plain)


def answer(data: dict[str, Any], printed: str = "") -> Answer:
    """The answer to one call. `printed` is what came out beside the line."""
    return Answer(
        value=data["value"],
        raised=raised(data.get("raised")),
        warnings=tuple([Warned(clean(c), clean(m), int(n)) for c, m, n in data["warnings"][:8]]),
        changed=tuple(map(clean, data["changed"][:MOST])),
        prints=clean(data["prints"] + printed),
        seconds=min(max(0.0, float(data["seconds"])), 1e6),  # not a number, or endless: whatever was sent
        peak_bytes=int(min(max(0.0, float(data["peak_bytes"])), 1e15)),
        traced=traced(data["traced"]) if "traced" in data else (),
    )


def traced(data: Any) -> tuple[Traced, ...]:
    """What a traced call gave besides its answer: within the limits that the tracer was to keep."""
    found = tuple(Traced(clean(f)[:80], clean(v)[:80], int(n), value) for f, v, n, value in data)
    if any(type(t.value) is not np.ndarray or t.value.dtype.kind not in "biuf" for t in found):
        raise TypeError("only arrays are traced")
    sizes = [t.value.nbytes for t in found]
    if len(sizes) > MOST or max(sizes, default=0) > ARRAY_BYTES or sum(sizes) > ALL_BYTES:
        raise ValueError("too much was traced")
    return found


def raised(data: dict[str, Any] | None) -> Raised | None:
    """An exception of the person's code."""
    if not data:
        return None
    kind, message = clean(data["type"])[:200], clean(data["message"])[:2000]
    frames = tuple(Frame(clean(p), int(n), clean(f), clean(s)) for p, n, f, s in data["frames"][-6:])
    error = Raised(kind, message, tuple(map(clean, data["bases"][:64])), frames)
    return error._replace(message=f"called sys.exit({message})", fatal=True) if kind == "SystemExit" else error


def broken(loaded: dict[str, Any]) -> Raised | None:
    """Why a file cannot be graded at all, or None."""
    missing = [clean(name) for name in loaded.get("missing", ())]
    if missing:
        return Raised("Missing", f"the file defines no {' and no '.join(missing)}", fatal=True)
    return raised(loaded.get("raised"))
