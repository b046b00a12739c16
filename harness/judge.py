"""The judge: starts the submission's process, asks it, keeps the time, ends it.

A `Judge` owns the warm parent and a scratch folder. `open` gives a `Session`, a Submission whose functions are remote:
it records every call with its answer. After a deadline, a crash or rubbish on the wire, every later call of that
session answers with the same words at once.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness import answers, beside
from harness.calls import Calls
from harness.ending import KILLED
from harness.forge import Forge, Process
from harness.line import Gone, Line
from harness.model import Answer, Call, Raised, Signature, Submission
from harness.source import read


class Limits(NamedTuple):
    """Seconds: for the import, for one call, for one submission in all. None is no limit."""

    load: float | None = 10.0
    call: float | None = 5.0
    total: float | None = 20.0


STARTING = 30.0
UNLIMITED = Limits(None, None, None)


class Judge:
    """Owns the processes of one run; use it in a `with`, or `close` it."""

    def __init__(self, limits: Limits | None = None, forge: Forge | None = None) -> None:
        self.limits = limits or Limits()
        self._forge = forge or Forge()
        self.calls = Calls()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, path: Path, source: bytes, name: str, wanted: Mapping[str, Signature]) -> Session:
        """Start to load a submission, which must define the functions `wanted`."""
        sources = beside.gather(path, source, read)
        orders = {
            "path": str(path),
            "source": np.frombuffer(source, np.uint8),
            "beside": {stem: np.frombuffer(data, np.uint8) for stem, data in sources.items()},
            "name": name,
            "seconds": self.limits.total,
            "wanted": {function: tuple(signature) for function, signature in wanted.items()},
        }
        return Session(self._forge.worker(), self.limits, wanted, orders, self.calls)

    def close(self) -> None:
        """End every worker."""
        self._forge.close()


class Session(Submission):
    """One submission in its process. `records` keeps every call with its answer, by the check that made it."""

    def __init__(
        self,
        process: Process,
        limits: Limits,
        signatures: Mapping[str, Signature],
        orders: dict[str, Any],
        shared: Calls,
    ) -> None:
        self.signatures, self.limits, self._process = signatures, limits, process
        self._calls = shared
        self.records: list[tuple[str, Call, Answer]] = []
        self.check = ""
        self.broken: Raised | None = None
        self.dead: Raised | None = None
        self.misfit = ""
        self.prints = ""
        self.seconds = 0.0
        self.peak_bytes = 0
        self.isolation: tuple[str, ...] = ()
        self._ended: int | None = None
        self._pending: Iterator[Answer] = iter(())
        self._line = Line(process.socket, process.prints)
        self._line.send(orders)
        self._loading: float | None = time.monotonic()

    def loaded(self) -> Session:
        """Wait until the file is loaded: `broken` and `misfit` tell what became of it."""
        if self._loading is None:
            return self
        start, self._loading = self._loading, None
        try:
            self.isolation = tuple(map(answers.clean, self._line.read(start + STARTING)["isolation"]))
            start = time.monotonic()
            loaded = self._line.read(None if self.limits.load is None else time.monotonic() + self.limits.load)
            self.broken = answers.broken(loaded)
            self.prints = answers.clean(loaded.get("prints", "") + self._line.printed())
            self.misfit = answers.clean("; ".join(loaded.get("misfits", ())))
            self.seconds = max(0.0, min(float(loaded["seconds"]), time.monotonic() - start))
        except Exception as error:  # whatever goes wrong in reading what came is rubbish that was sent
            self.broken = self._died(error, "importing the file", self.limits.load)
        return self

    def ask(self, calls: Sequence[Call]) -> Iterator[Answer]:
        """Send the calls in one frame; give the answers as they come, and record them."""
        self.drain()
        if self.dead is None:
            calls, data = self._calls.frame(calls)
            self._line.send_packed(data, self.limits.call)
        self._pending = self._answers(calls)
        return self._pending

    def trace(self, call: Call) -> Answer:
        """The answer to one call with what the variables of the file held on the way. It is not recorded."""
        self.loaded().drain()
        if self.dead is None:
            self._line.send([{"trace": [call.function, *call.args]}])
        return Answer(raised=self.dead) if self.dead else self._answer(call)

    def drain(self) -> None:
        """Read the answers that a check asked for and left unread."""
        for _ in self._pending:
            pass

    def _answers(self, calls: Sequence[Call]) -> Iterator[Answer]:
        for call in calls:
            answer = Answer(raised=self.dead) if self.dead else self._answer(call)
            self.records.append((self.check, call, answer))
            yield answer

    def _answer(self, call: Call) -> Answer:
        start = time.monotonic()
        limits = [limit for limit in (self.limits.call, self._left()) if limit is not None]
        try:
            data = self._line.read(start + min(limits) if limits else None)
            answer = answers.answer(data, self._line.printed())
        except Exception as error:
            limit = self.limits.call if limits and min(limits) == self.limits.call else self.limits.total
            self.dead = self._died(error, call.function, limit)
            return Answer(raised=self.dead)
        except BaseException:  # Ctrl-C or pytest-timeout: what is still on the wire would answer the wrong question
            self.dead = Raised("Interrupted", f"was interrupted in {call.function}", fatal=True)
            self.close()
            raise
        finally:
            self.seconds += time.monotonic() - start
        self.peak_bytes = max(self.peak_bytes, answer.peak_bytes)
        self.prints += answer.prints
        return answer

    def _left(self) -> float | None:
        return None if self.limits.total is None else max(0.01, self.limits.total - self.seconds)

    def _died(self, error: Exception, where: str, limit: float | None) -> Raised:
        status, why = self.close(asked=True), error.why if isinstance(error, Gone) else "rubbish"
        if why == "deadline":
            text = f"reached the time limit of {limit:g} s in {where}: the process was ended"
            return Raised("Timeout", text, fatal=True)
        if why == "rubbish":
            return Raised("Rubbish", f"wrote bytes into the pipe that are no answer, in {where}", fatal=True)
        if status == KILLED:
            return Raised("Gone", f"hung up in {where}, without an answer: the process was ended", fatal=True)
        if status < 0:
            name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
            hint = " (a crash in native code)" if -status in (signal.SIGSEGV, getattr(signal, "SIGBUS", 0)) else ""
            hint = " (the limit on processor time)" if -status == getattr(signal, "SIGXCPU", 0) else hint
            return Raised("Died", f"the process died with {name}{hint} in {where}", fatal=True)
        return Raised("Exited", f"the process ended (exit status {status}) in {where}, before the answer", fatal=True)

    def close(self, asked: bool = False) -> int:
        """End the worker with all that it started; how it ended, if `asked`."""
        if self._ended is None:
            self._line.close()
            self._ended = self._process.end(asked)
        return self._ended
