"""What checks say about answers. Every comparison is written so that NaN fails."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness import grids
from harness.model import Answer, Call, Function, Wrong
from harness.wire import Array, Handle

Case = tuple[Any, ...]
Right = Callable[..., Any]


def tolerance(want: Array) -> float:
    """How far an answer may lie from `want`: 1e-9 of its largest entry, 1e-4 in float32, exact for whole numbers."""
    if want.dtype.kind != "f" or want.size == 0:
        return 0.0
    finite = np.abs(want[np.isfinite(want)])
    return (1e-9 if want.dtype.itemsize >= 8 else 1e-4) * float(finite.max(initial=0.0))


def differs(got: Array, want: Array) -> Array:
    """Where two arrays of one shape differ beyond the tolerance; NaN agrees with NaN alone."""
    with np.errstate(all="ignore"):
        if want.dtype.kind == "b" or got.dtype.kind == "b":
            return np.asarray(got != want)
        near = (np.abs(got - want) <= tolerance(want)) | (got == want)
        return np.asarray(~(near | (np.isnan(got) & np.isnan(want))))


def agrees(ask: Function, right: Right, cases: Iterable[Case], hint: str = "") -> None:
    """Every case gives what the reference gives. Order the cases from the smallest up: the first wrong one is shown."""
    for call, answer, want in _asked(ask, right, list(cases)):
        same(call, answer, want, hint)


def same(call: Call, answer: Answer, want: Array, hint: str = "") -> None:
    """One answer is an ndarray of the right shape, kind and values."""
    got = returned(call, answer, want)
    bad = differs(got, want)
    if not bad.any():
        return
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    is_, should = grids.pair(got[first], want[first])
    says = f"{list(first) if first else ''} is {is_}, should be {should}"
    raise wrong(call, answer, says, *_details(got, want, bad), hint=hint)


def wrong(call: Call, answer: Answer, says: str, *shows: str, hint: str = "", mistake: str | None = None) -> Wrong:
    """What to raise about a call: `says` goes on where the call's text ends; its arguments follow what is shown."""
    text, where = describe(call)
    return Wrong(f"{text}{says}", *shows, *where, *_some(hint), call=call, answer=answer, mistake=mistake)


def returned(call: Call, answer: Answer, want: Array) -> Array:
    """The answer is an ndarray of the shape and the kind (bool, whole, float) of `want`; its values are not read."""
    got = answer.value
    if answer.raised is not None:
        raise wrong(call, answer, f" {answer.raised}")
    if got is None:
        raise wrong(call, answer, " is None: is its return missing?")
    if not isinstance(got, np.ndarray):
        kind = got.type if isinstance(got, Handle) else type(got).__name__
        raise wrong(call, answer, f" is of type {kind}, should be a numpy.ndarray of shape {want.shape}")
    if got.shape != want.shape:
        raise wrong(call, answer, f" has shape {got.shape}, should be {want.shape}", *_some(_shapes(got, want)))
    if got.dtype.kind != want.dtype.kind:
        raise wrong(call, answer, f" has dtype {got.dtype}, should be {want.dtype}", *_some(_shapes(got, want)))
    return got


def keeps_float32(ask: Function, right: Right, cases: Iterable[Case]) -> None:
    """float32 in gives float32 out. Pass the cases in float64: they are cast here, ids and masks left alone."""
    for call, answer, want in _asked(ask, right, [cast(case, np.float32) for case in cases]):
        got = returned(call, answer, want)
        if got.dtype != np.float32:
            hint = (
                "Under NumPy 2 a float64 scalar such as np.sqrt(8) makes float64 of a float32 array; 8**0.5 does not."
            )
            raise wrong(call, answer, f" gives {got.dtype} for float32 in", hint)
        same(call, answer, want)


def refuses(ask: Function, cases: Iterable[Case]) -> None:
    """Every case raises ValueError, with a message."""
    for call, answer in ask.each(cases):
        raised = answer.raised
        if raised is None:
            kind = f"an array of shape {answer.value.shape}" if isinstance(answer.value, np.ndarray) else "a value"
            raise wrong(call, answer, f" gives {kind}, should raise ValueError")
        if raised.fatal or "ValueError" not in raised.bases:
            raise wrong(call, answer, f" {raised}, should be a ValueError")
        if not raised.message:
            raise wrong(call, answer, " raises a ValueError without a message")


def unchanged(ask: Function, right: Right, cases: Iterable[Case]) -> None:
    """No case modifies what is passed in, and read-only inputs work as well."""
    cases = list(cases)
    for call, answer in ask.each(cases):
        if answer.changed:
            one = " and ".join(answer.changed)
            raise wrong(call, answer, f" modifies {one}, which belongs to the caller")
    frozen = [read_only(case) for case in cases]
    agrees(ask, right, frozen, "The inputs of this call are read-only arrays, so writing into one of them raises.")


def repeats(ask: Function, right: Right, case: Case, times: int = 5) -> None:
    """The same call gives the same, right answer every time."""
    answers, want = ask.each([case] * times), right(*case)
    for number, (call, answer) in enumerate(answers, start=1):
        same(call, answer, want, f"This is call number {number} with the same arguments." if number > 1 else "")


def silent(ask: Function, right: Right, cases: Iterable[Case]) -> None:
    """Every case agrees and gives no warning under NumPy's default error state."""
    for call, answer, want in _asked(ask, right, list(cases)):
        same(call, answer, want)
        if any(warned.category == "RuntimeWarning" for warned in answer.warnings):
            raise wrong(call, answer, " warns, though the values are right")


def _asked(ask: Function, right: Right, cases: list[Case]) -> Iterator[tuple[Call, Answer, Array]]:
    """Each call with its answer and the right one, which is computed while the worker is at work."""
    answers = ask.each(cases)
    wants = [right(*case) for case in cases]
    return ((call, answer, want) for (call, answer), want in zip(answers, wants, strict=True))


def cast(value: Any, dtype: Any) -> Any:
    """The same value with its float arrays in another dtype, also inside tuples and dicts."""
    return _each_array(value, lambda a: a.astype(dtype) if a.dtype.kind == "f" else a)


def read_only(value: Any) -> Any:
    """The same value with read-only arrays."""

    def frozen(array: Array) -> Array:
        copy = array.copy()
        copy.flags.writeable = False
        return copy

    return _each_array(value, frozen)


def strided(value: Any) -> Any:
    """The same value with its arrays laid out the other way round in memory (Fortran order): not C-contiguous."""
    return _each_array(value, np.asfortranarray)


def _each_array(value: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_each_array(item, change) for item in value)
    if isinstance(value, Mapping):
        return {key: _each_array(item, change) for key, item in value.items()}
    return value


def describe(call: Call) -> tuple[str, list[str]]:
    """The call in one line, and below it what its arrays are: `split_heads(x, 2)`, `x is float64 (2, 3, 8)`."""
    words, where = [], []
    for index, value in enumerate(call.args):
        name = call.names[index] if index < len(call.names) else f"argument {index}"
        if isinstance(value, np.ndarray):
            words.append(name)
            where.append(_argument(name, value))
        elif isinstance(value, Mapping):
            words.append(name)
            where.append(f"{name}: " + ", ".join(f"{key} {item.shape}" for key, item in value.items()))
        else:
            words.append(repr(value))
    return f"{call.function}({', '.join(words)})", ["\n".join(where)] if where else []


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


def _details(got: Array, want: Array, wrong: Array) -> list[str]:
    count = int(wrong.sum())
    shows = _some(grids.compared(got, want, wrong))
    if wrong.size == 1:
        return []
    text = f"{count} of {wrong.size} entries differ"
    if want.dtype.kind == "f":
        finite = np.isfinite(got) & np.isfinite(want)
        largest = np.abs(got[finite] - want[finite]).max(initial=0.0)
        bad = int((~np.isfinite(got) & np.isfinite(want)).sum())
        text += f", by up to {largest:.3g}" if largest else ""
        text += f"; {bad} of them NaN or infinite" if bad else ""
        if got.dtype.itemsize < want.dtype.itemsize:
            text += f" (the answer is {got.dtype}: half of the digits are gone)"
    return [text, *shows]


def _shapes(got: Array, want: Array) -> str:
    small = all(0 < a.size <= 36 and a.ndim <= 2 for a in (got, want))
    return grids.beside(grids.table(got), grids.table(want), ("got", "should be")) if small else ""


def _some(text: str) -> list[str]:
    return [text] if text else []
