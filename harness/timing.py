"""How long a submission and the solution take, side by side, and what a call does line by line.

Both run in workers behind the one door. The worker measures each call around the function alone (`Answer.seconds`, by
perf_counter), so neither the wire nor the process counts. `Answer.peak_bytes` is the high water of a whole process and
never falls, so memory is measured by `meter` instead, which is appended to both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from harness import registry
from harness.judge import Judge, Session
from harness.model import Answer, Call, Signature
from harness.outline import SOLUTIONS

ROUNDS, FEWEST = 21, 5
BUDGET = 0.5
SLOW, PATIENCE = 0.1, 1.0
METER = Path(__file__).with_name("meter.py")
MEASURED = {"kata_meter": Signature("kata_meter(path, last, watch, function, *args)", (), 4)}


@dataclass(frozen=True)
class Timed:
    """Medians of one call: the seconds of both, and how many times as long the submission takes.

    A submission too slow to wait for has None.
    """

    yours: float | None
    solution: float
    ratio: float | None


@dataclass(frozen=True)
class Metered:
    """What one call did in its worker; lines are those of the file."""

    peak: int
    peaks: dict[int, int]
    counts: dict[int, int]
    largest: tuple[str, tuple[int, ...], int, int]
    wide: int
    shares: tuple[int, ...]


@dataclass
class Pair:
    """A submission and the solution of its kata, each in a worker of its own."""

    judge: Judge
    name: str
    path: Path
    source: bytes
    _opened: list[Session] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.solution_path = SOLUTIONS / f"{self.name}.py"
        self.solution_source = self.solution_path.read_bytes()
        self.yours = self._open(self.path.resolve(), self.source)
        self.solution = self._open(self.solution_path, self.solution_source)
        self.yours.loaded(), self.solution.loaded()
        self._meters: dict[bool, Session] = {}

    def _open(self, path: Path, source: bytes) -> Session:
        wanted = registry.wanted(self.name)
        self._opened.append(self.judge.open(path, source, self.name, wanted))
        return self._opened[-1]

    def altered(self, source: bytes) -> Session:
        """The submission with another text: to try whether a change mends it."""
        return self._open(self.path.resolve(), source).loaded()

    def both(self, calls: Sequence[Call]) -> Iterator[tuple[Answer, Answer]]:
        """The answers of the two to each call."""
        return zip(self.yours.ask(calls), self.solution.ask(calls), strict=True)

    def timed(self, call: Call, expected: float = 0.0) -> Timed | None:
        """Medians of interleaved calls after one warm-up each; None when one of the two raises.

        A submission that is `expected` to take longer than PATIENCE is not called.
        """
        sides = [self.solution] if expected > PATIENCE else [self.solution, self.yours]
        seconds: dict[int, list[float]] = {0: [], 1: []}
        end = time.monotonic() + BUDGET
        for turn in range(ROUNDS):
            for side in range(len(sides)):
                [answer] = sides[side].ask([call])
                if answer.raised:
                    return None
                seconds[side].append(max(answer.seconds, 1e-9))
            slow = max(taken[0] for taken in seconds.values() if taken) > SLOW
            if turn >= (1 if slow else FEWEST) and time.monotonic() > end:
                break
        if len(seconds[0]) > 1:
            seconds = {side: found[1:] for side, found in seconds.items()}
        if not seconds[1]:
            return Timed(None, median(seconds[0]), None)
        rounds = [yours / theirs for yours, theirs in zip(seconds[1], seconds[0], strict=False)]
        return Timed(median(seconds[1]), median(seconds[0]), median(rounds))

    def metered(self, call: Call, watch: bool = False, solution: bool = False) -> Metered | None:
        """What one call of a side does, line by line; None when it raises."""
        path = self.solution_path if solution else self.path.resolve()
        source = self.solution_source if solution else self.source
        if solution not in self._meters:
            whole = source + b"\n\n" + METER.read_bytes()
            self._meters[solution] = self.judge.open(path, whole, self.name, MEASURED)
            self._opened.append(self._meters[solution])
        last = source.count(b"\n") + 1
        asked = Call("kata_meter", (str(path), last, watch, call.function, *call.args))
        [answer] = self._meters[solution].loaded().ask([asked])
        return _metered(answer.value) if answer.raised is None else None

    def close(self) -> None:
        """End the workers."""
        for session in self._opened:
            session.close()


@contextmanager
def side_by_side(judge: Judge, name: str, path: Path, source: bytes) -> Iterator[Pair]:
    """A submission and the solution, for as long as they are compared."""
    pair = Pair(judge, name, path, source)
    try:
        yield pair
    finally:
        pair.close()


def growth(sizes: Sequence[int], seconds: Sequence[float | None]) -> float | None:
    """The exponent with which a time grew between the last two sizes: 2 is quadratic."""
    known = [(n, s) for n, s in zip(sizes, seconds, strict=True) if s is not None]
    if len(known) < 2:
        return None
    (few, fast), (many, slow) = known[-2:]
    return math.log(slow / fast) / math.log(many / few)


def _metered(value: Any) -> Metered | None:
    try:
        name, shape, size, line = value["largest"]
        return Metered(
            int(value["peak"]),
            {int(line): int(n) for line, n in value["peaks"]},
            {int(line): int(n) for line, n in value["counts"]},
            (str(name), tuple(map(int, shape)), int(size), int(line)),
            int(value["wide"]),
            tuple(map(int, value["shares"])),
        )
    except (TypeError, KeyError, ValueError):  # the person's code put something else there
        return None
