"""Answers of a submission beside those of the solution: how far apart, of what kind, and a forward pass in a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness import expect, influence, outputs
from harness.model import Answer, Call
from harness.wire import Array

Asked = list[tuple[Call, Answer, Answer]]


def by_output(function: str, answers: Asked) -> dict[str, Asked]:
    """The answers by output: the parts of a tuple are told apart by their number, and only arrays and numbers count."""
    want = next((theirs.value for _, _, theirs in answers if theirs.value is not None), None)
    places = outputs.places(want)
    names = [f"{function}[{place}]" if isinstance(want, tuple) else function for place in places]
    split: dict[str, Asked] = {name: [] for name in names}
    for call, yours, theirs in answers:
        right = outputs.parts(theirs.value, theirs.value) or []
        mine = outputs.parts(yours.value, theirs.value) or [None] * len(right)
        for name, got, expected in zip(names, mine, right, strict=False):
            split[name].append((call, yours._replace(value=got), theirs._replace(value=expected)))
    return split


def agreement(answers: Asked) -> dict[str, Any]:
    """How far the answers are apart: the largest differences, and how many cannot be measured at all."""
    agree = other = 0
    worst: tuple[float, float, str] = (0.0, 0.0, "")
    absolute, first = 0.0, ""
    for call, yours, theirs in answers:
        text = _text(call)
        got, want = yours.value, theirs.value
        if not (isinstance(got, np.ndarray) and isinstance(want, np.ndarray) and got.shape == want.shape):
            other, first = other + 1, first or text
            continue
        agree += not expect.differs(got, _loosest(call, got, want)).any()
        gap, scale, lost = _gap(got, want)
        other, first = other + lost, first or (text if lost else "")
        absolute = max(absolute, gap)
        worst = max(worst, (gap / scale, gap, text))
    where = first or worst[2]
    return {
        "calls": len(answers),
        "agree": int(agree),
        "absolute": absolute,
        "relative": worst[0],
        "other": int(other),
        "worst": where if other or agree < len(answers) else "",
    }


def _loosest(call: Call, got: Array, want: Array) -> Array:
    """The right answer in the narrower of the two dtypes, by which the tolerance goes; a number has none of its own."""
    kinds = {got.dtype.str[1:], want.dtype.str[1:]}
    given = {arg.dtype.str[1:] for arg in call.args if isinstance(arg, np.ndarray)} if want.ndim == 0 else set()
    return want.astype(np.float32) if kinds == {"f4", "f8"} or "f4" in given else want


def _gap(got: Array, want: Array) -> tuple[float, float, bool]:
    """The largest difference, the largest entry of the right answer, and whether one is not finite unlike the other."""
    mine, right = got.astype(float), want.astype(float)
    finite = np.isfinite(mine) & np.isfinite(right)
    alike = finite | (mine == right) | (np.isnan(mine) & np.isnan(right))
    gap = np.abs(mine[finite] - right[finite]).max(initial=0.0)
    return float(gap), float(np.abs(right[finite]).max(initial=0.0)) or 1.0, not alike.all()


def returns(function: str, kind: str, answers: Asked) -> list[dict[str, Any]]:
    """What a call of the largest shape gives, by each."""
    _, yours, theirs = answers[-1]
    return [{"function": function, "input": kind, "yours": _kind(yours), "solution": _kind(theirs)}]


def _kind(answer: Answer) -> dict[str, Any]:
    value = answer.value
    if answer.raised or not isinstance(value, np.ndarray):
        says = str(answer.raised) if answer.raised else f"a {getattr(value, 'type', type(value).__name__)}"
        return {"dtype": says, "layout": "", "shape": []}
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "strided"
    return {"dtype": str(value.dtype), "layout": layout, "shape": list(value.shape)}


def sanity(function: str, asked: Asked) -> list[dict[str, Any]]:
    """The lines that one prints of a forward pass: of one answer, and of the attention that can be read off a block."""
    lines = []
    call, *answers = next((a for a in reversed(asked) if _readable(a)), asked[-1])
    for who, answer in zip(("yours", "solution"), answers, strict=True):
        if isinstance(answer.value, np.ndarray) and answer.value.size:
            line = _line(answer.value, _text(call), _square(answer.value))
            lines.append({"function": function, "who": who, **line})
    closed = next((a for a in asked if _closed(a[0])), None)
    for who, answer in zip(("yours", "solution"), closed[1:] if closed else (), strict=False):
        attention = influence.attention_of(answer.value)
        if attention is not None:
            line = _line(attention, "its attention, other paths closed", True)
            lines.append({"function": function, "who": who, **line})
    return lines


def _readable(asked: tuple[Call, Answer, Answer]) -> bool:
    _, yours, theirs = asked
    return isinstance(yours.value, np.ndarray) and np.shape(yours.value) == np.shape(theirs.value)


def _closed(call: Call) -> bool:
    x = call.args[0]
    return isinstance(x, np.ndarray) and x.dtype == np.float64 and np.array_equal(x, influence.closed_rows())


def _square(value: Array) -> bool:
    """Whether an answer can be a map of who sees whom."""
    return value.ndim >= 2 and value.shape[-1] == value.shape[-2] and value.dtype.kind in "bf"


def _line(value: Array, of: str, map_: bool) -> dict[str, Any]:
    real = value.astype(float)
    nan, infinite = int(np.isnan(real).sum()), int(np.isinf(real).sum())
    finite = real[np.isfinite(real)]
    line: dict[str, Any] = {"of": of, "shape": list(value.shape), "nan": nan, "infinite": infinite}
    low, high, mean = (finite.min(), finite.max(), finite.mean()) if finite.size else (None, None, None)
    line |= {k: None if v is None else float(v) for k, v in (("low", low), ("high", high), ("mean", mean))}
    sums = np.nan_to_num(real, posinf=0.0, neginf=0.0).sum(axis=-1)
    line["row_sums"] = [float(sums.min()), float(sums.max())]
    weight = np.abs(np.nan_to_num(real, posinf=0.0, neginf=0.0))
    above = float(np.triu(weight, k=1).sum() / weight.sum()) if map_ and weight.sum() else None
    return line | {"above": above}


def _text(call: Call) -> str:
    """A call in one line, with the shapes of its arrays."""
    shapes = [f"{'x'.join(map(str, a.shape))}" if isinstance(a, np.ndarray) else "" for a in call.args]
    words = [
        f"{n} {s}" if s else n if isinstance(a, dict | list) else repr(a)
        for n, s, a in zip(call.names, shapes, call.args, strict=False)
    ]
    return f"{call.function}({', '.join(words)})"
