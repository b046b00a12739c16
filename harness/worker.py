"""The submission inside its process: loads the file, answers calls. It holds no check, no reference, no verdict."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import time
import traceback
import types
import warnings
from collections.abc import Mapping
from typing import Any

from harness import tracing, wire
from harness.arguments import Watched
from harness.beside import Beside
from harness.prints import Prints


class Worker:
    """One submission: its module, its handles, its prints."""

    def __init__(
        self, path: str, source: bytes, name: str, prints: Prints, beside: Mapping[str, bytes] | None = None
    ) -> None:
        self.path, self.source, self.name, self.prints = path, source, name, prints
        self.folder, self.beside = os.path.dirname(path), beside or {}
        self.functions: dict[str, Any] = {}
        self.names: dict[str, tuple[str, ...]] = {}
        self.handles: dict[int, Any] = {}

    def load(self, wanted: dict[str, tuple[str, tuple[str, ...], int]]) -> dict[str, Any]:
        """Run the file; say what it lacks. `wanted` holds the fields of a Signature for each function."""
        self.names = {function: names for function, (_, names, _) in wanted.items()}
        start = time.perf_counter()
        try:
            self.execute()
        except BaseException as error:
            return {
                "seconds": time.perf_counter() - start,
                "raised": self.describe(error),
                "prints": self.prints.take(),
            }
        missing = [function for function in wanted if function not in self.functions]
        misfits = [_misfit(name, self.functions[name], *fit) for name, fit in wanted.items() if name not in missing]
        return {
            "seconds": time.perf_counter() - start,
            "missing": missing,
            "misfits": [text for text in misfits if text],
            "prints": self.prints.take(),
        }

    def execute(self) -> None:
        """Run the file as `katas.NAME`, where `katas` is its own folder."""
        package = types.ModuleType("katas")
        package.__path__ = [self.folder]
        module = types.ModuleType(f"katas.{self.name}")
        module.__file__, module.__package__ = self.path, "katas"
        sys.modules["katas"], sys.modules[module.__name__] = package, module
        setattr(package, self.name, module)
        sys.meta_path.insert(0, Beside(self.folder, self.beside))
        for path, source in {self.path: self.source, **self._others()}.items():  # for inspect, and for tracebacks
            text = source.decode("utf-8", "replace")
            linecache.cache[path] = len(text), None, text.splitlines(True), path
        self.functions = module.__dict__
        exec(compile(self.source, self.path, "exec", dont_inherit=True), module.__dict__)

    def _others(self) -> dict[str, bytes]:
        return {os.path.join(self.folder, f"{stem}.py"): source for stem, source in self.beside.items()}

    def answer(self, request: list[Any] | dict[str, list[Any]]) -> bytes:
        """One call. The request is the function's name, then its arguments; under "trace" when it is to be followed."""
        tracer = tracing.Tracer(self.path) if isinstance(request, dict) else None
        function, *args = request["trace"] if isinstance(request, dict) else request
        result = self.observe(function, args, tracer)
        try:
            return wire.pack(result, self.keep)
        except BaseException as error:
            told = self.describe(error)
            result["raised"] = told | {"message": f"the answer could not be read: {told['message']}"}
            return wire.pack(result | {"value": None})

    def observe(self, function: str, args: list[Any], tracer: tracing.Tracer | None = None) -> dict[str, Any]:
        """The value of one call or its exception, and what happened on the way."""
        watched = Watched(self.names[function], args)
        result: dict[str, Any] = {"value": None}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            try:
                called = self.functions[function]
                result["value"] = tracer.call(called, args) if tracer else called(*args)
            except BaseException as error:
                result["raised"] = self.describe(error)
            result["seconds"] = time.perf_counter() - start
        result["warnings"] = [self._warned(w) for w in (caught or ())[:8]]
        result["changed"] = watched.changed()
        result["prints"], result["peak_bytes"] = self.prints.take(), peak_bytes()
        if tracer:
            result["traced"] = tracer.found
        return result

    def keep(self, value: Any) -> wire.Handle:
        """Hold on to what does not cross, so that it can be passed in again."""
        self.handles[len(self.handles)] = value
        kind = type(value)
        return wire.Handle(len(self.handles) - 1, _type_name(kind), _text(lambda: repr(value))[:200])

    def find(self, handle: int) -> Any:
        """What `keep` held on to."""
        return self.handles[handle]

    def describe(self, error: BaseException) -> dict[str, Any]:
        """An exception as data: its traceback, trimmed to the files beside the submission."""
        kind = type(error)
        bases = [_type_name(base) for base in type.__dict__["__mro__"].__get__(kind)]
        message = _text(lambda: str(error))
        if isinstance(error, SyntaxError) and error.filename == self.path and error.lineno:
            frames = [[self.path, error.lineno, "", self._line(error.lineno).strip()[:200]]]
            message = _text(lambda: str(error.msg))
        else:
            frames = self._frames(error.__traceback__)
        return {"type": _type_name(kind), "bases": bases, "message": message[:2000], "frames": frames[-6:]}

    def _frames(self, trace: types.TracebackType | None) -> list[list[Any]]:
        frames: list[list[Any]] = []
        for frame, line in traceback.walk_tb(trace):
            path = frame.f_code.co_filename
            if os.path.dirname(path) == self.folder:
                text = self._line(line) if path == self.path else linecache.getline(path, line)
                shown = [path, line, frame.f_code.co_name, text.strip()[:200]]
                if frames[-1:] != [shown]:  # a recursion shows once
                    frames.append(shown)
        return frames

    def _line(self, number: int) -> str:
        lines = self.source.splitlines()
        return lines[number - 1].decode("utf-8", "replace") if 0 < number <= len(lines) else ""

    def _warned(self, warned: warnings.WarningMessage) -> list[Any]:
        line = warned.lineno if warned.filename == self.path else 0
        return [_type_name(warned.category), _text(lambda: str(warned.message))[:300], line]


def _misfit(name: str, function: Any, text: str, names: tuple[str, ...], required: int) -> str:
    """What is wrong with the signature, or nothing."""
    if not callable(function):
        return f"{name} is a {_type_name(type(function))}, should be a function"
    try:
        signature = inspect.signature(function)
    except BaseException:  # a builtin, or anything odd: the calls will tell
        return ""
    try:
        for count in (len(names), required):
            signature.bind(*[None] * count)
    except TypeError:
        return f"the signature is {name}{signature}, should be {text}"
    return ""


def _type_name(kind: type) -> str:
    """The name of a type, past any metaclass."""
    return str(type.__dict__["__name__"].__get__(kind))


def _text(make: Any) -> str:
    """A text that the person's code makes, or the word that it could not be made."""
    try:
        text = make()
        return text if type(text) is str else "(no text)"
    except BaseException:
        return "(could not be printed)"


def peak_bytes() -> int:
    """The most memory this process has held so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
