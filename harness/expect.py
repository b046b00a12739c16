"""What checks say about answers. Every comparison is written so that NaN fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from harness import grids, margins, outputs
from harness.model import Answer, Call, Function, Wrong
from harness.wire import Array, Handle
from harness.wording import describe

ORDINALS = ("first", "second", "third")
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
        apart, most = np.abs(got - want), tolerance(want)
        near = (apart <= most) | (got == want)
        off = np.asarray(~(near | (np.isnan(got) & np.isnan(want))))
        margins.note(apart, most, off)
        return off


def identical(got: Array, want: Array) -> bool:
    """Whether two arrays hold the same bytes: so it is for most answers, and it is cheaper to ask."""
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


def agrees(ask: Function, right: Right, cases: Iterable[Case], hint: str = "") -> None:
    """Every case gives what the reference gives. Order the cases from the smallest up: the first wrong one is shown."""
    for call, answer, want in _asked(ask, right, list(cases)):
        same(call, answer, want, hint)


def same(call: Call, answer: Answer, want: Any, hint: str = "") -> None:
    """One answer has the right shape, kind and values; so has each array and number in a tuple."""
    for part, got, right in answered(call, answer, want):
        if identical(got, right):
            continue
        bad = differs(got, right)
        if bad.any():
            first = tuple(int(i) for i in np.argwhere(bad)[0])
            is_, should = grids.pair(got[first], right[first])
            says = f"{part}{list(first) if first else ''} is {is_}, should be {should}"
            raise wrong(call, answer, says, *_details(got, right, bad), *_which(call, part), hint=hint)


def wrong(call: Call, answer: Answer, says: str, *shows: str, hint: str = "", mistake: str | None = None) -> Wrong:
    """What to raise about a call: `says` goes on where the call's text ends; its arguments follow what is shown."""
    text, where = describe(call)
    return Wrong(f"{text}{says}", *shows, *where, *_some(hint), call=call, answer=answer, mistake=mistake)


def returned(call: Call, answer: Answer, want: Any) -> Array:
    """The answer has the shape and the kind (bool, whole, float) of `want`; its values are not read.

    Of a tuple, all that is compared is looked at, and the first part returned.
    """
    return answered(call, answer, want)[0].got


class Output(NamedTuple):
    """An array of an answer with the right one; `part` is how a message calls it, '[1]' of a tuple and '' elsewhere."""

    part: str
    got: Array
    want: Array


def answered(call: Call, answer: Answer, want: Any) -> list[Output]:
    """All that is compared of an answer, each of the right shape and kind. A number is an array without axes."""
    got = outputs.parts(answer.value, want)
    if answer.raised is not None:
        raise wrong(call, answer, f" {answer.raised}")
    if answer.value is None:
        raise wrong(call, answer, " is None: is its return missing?")
    if got is None:
        raise wrong(call, answer, f" is {_built(answer.value)}, should be a tuple of {len(want)}")
    names = [f"[{n}]" if isinstance(want, tuple) else "" for n in outputs.places(want)]
    found = [Output(*three) for three in zip(names, got, outputs.wanted(want), strict=True)]
    for part, value, right in found:
        _fits(call, answer, part, value, right)
    return found


def _fits(call: Call, answer: Answer, part: str, got: Any, want: Array) -> None:
    which = _which(call, part)
    if not isinstance(got, np.ndarray):
        should = f"a numpy.ndarray of shape {want.shape}" if want.shape else "a float"
        raise wrong(call, answer, f"{part} is {_built(got)}, should be {should}", *which)
    if got.shape != want.shape:
        should = f"{want.shape}" if want.shape else "a single number"
        shows = _some(_shapes(got, want))
        raise wrong(call, answer, f"{part} has shape {got.shape}, should be {should}", *shows, *which)
    if got.dtype.kind != want.dtype.kind:
        shows = _some(_shapes(got, want))
        raise wrong(call, answer, f"{part} has dtype {got.dtype}, should be {want.dtype}", *shows, *which)


def _built(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"of type {value.type if isinstance(value, Handle) else type(value).__name__}"


def _which(call: Call, part: str) -> list[str]:
    return [f"{part} is the {ORDINALS[int(part[1:-1])]} of what {call.function} returns."] if part else []


def keeps_float32(ask: Function, right: Right, cases: Iterable[Case]) -> None:
    """float32 in gives float32 out. Pass the cases in float64: they are cast here, ids and masks left alone."""
    for call, answer, want in _asked(ask, right, [cast(case, np.float32) for case in cases]):
        for part, got, wanted in answered(call, answer, want):
            if got.dtype != wanted.dtype and got.dtype.kind == "f":
                hint = "Under NumPy 2 a float64 scalar such as np.sqrt(8) makes float64 of float32; 8**0.5 does not."
                raise wrong(call, answer, f"{part} gives {got.dtype} for float32 in", hint, *_which(call, part))
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


def unchanged(ask: Function, right: Right, cases: Iterable[Case], times: int = 5) -> None:
    """No case modifies what is passed in, and read-only inputs work; the first case gives the same every time."""
    cases = list(cases)
    plain, frozen = [cases[0]] * (times - 2) + cases, [read_only(case) for case in cases]
    wants = {id(case): right(*case) for case in cases}
    answers = list(zip(ask.each([*plain, *frozen]), [*plain, *cases], strict=True))
    for number, ((call, answer), case) in enumerate(answers, start=1):
        if answer.changed:
            raise wrong(call, answer, f" modifies {' and '.join(answer.changed)}, which belongs to the caller")
        hint = f"This is call number {number} with the same arguments." if 1 < number < times else ""
        if number > len(plain):
            hint = "The inputs of this call are read-only arrays, so writing into one of them raises."
        same(call, answer, wants[id(case)], hint)


def distributes(ask: Function, right: Right, cases: Iterable[Case], what: str) -> None:
    """Each row along the last axis of the last part is a distribution: no entry below 0, and their sum is 1."""
    for call, answer, want in _asked(ask, right, list(cases)):
        part, got, _ = answered(call, answer, want)[-1]
        bad = ~((np.abs(got.sum(axis=-1) - 1) <= 1e-9) & (got >= 0).all(axis=-1))
        if bad.any():
            row = tuple(int(i) for i in np.argwhere(bad)[0])
            says = f"{part}{list(row)} holds {grids.number(got[row].min())} and sums to {grids.number(got[row].sum())}"
            raise wrong(call, answer, f"{says}, should be {what} that sum to 1", *_which(call, part))


def silent(ask: Function, right: Right, cases: Iterable[Case]) -> None:
    """Every case agrees and gives no warning under NumPy's default error state."""
    for call, answer, want in _asked(ask, right, list(cases)):
        same(call, answer, want)
        if any(warned.category == "RuntimeWarning" for warned in answer.warnings):
            raise wrong(call, answer, " warns, though the values are right")


def _asked(ask: Function, right: Right, cases: list[Case]) -> Iterator[tuple[Call, Answer, Any]]:
    """Each call with its answer and the right one, which is computed while the worker is at work."""
    answers = ask.each(cases)
    wants = [right(*case) for case in cases]
    return ((call, answer, want) for (call, answer), want in zip(answers, wants, strict=True))


def cast(value: Any, dtype: Any) -> Any:
    """The same value with its float arrays in another dtype, also inside tuples, lists and dicts."""
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
    if isinstance(value, tuple | list):
        return type(value)(_each_array(item, change) for item in value)
    if isinstance(value, Mapping):
        return {key: _each_array(item, change) for key, item in value.items()}
    return value


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
