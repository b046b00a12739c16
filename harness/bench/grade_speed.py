"""What `kata grade` costs, as ratios in one run: `python harness/bench/grade_speed.py [rounds [submissions]]`.

one         one solved file, against `python -c "import numpy"` (wall time, medians of interleaved pairs)
isolation   milliseconds that a process of its own adds to a submission of about 80 calls, against the same checks on
            the same functions in this process
many        mixed submissions of the six katas a second: right ones, each mistake, and two mistakes at once; also by
            processor time, which another load on the machine changes less
memory      the judge's resident memory after a fifth of them, and after all
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness import batch, outline, registry
from harness.calls import Calls, Remembered
from harness.collect import Entry, cores
from harness.grade import grade
from harness.judge import Judge
from harness.model import Answer, Call, Raised, Submission
from harness.probe import generator

SEED = 7
SIX = tuple(name for name in outline.names() if outline.outline(name).track == 1)


def wall(*words: str) -> float:
    """Seconds of one command."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=outline.ROOT, capture_output=True, check=True)
    return time.perf_counter() - start


def one(name: str, rounds: int) -> None:
    """Print the ratio for one solved file."""
    target = str(outline.SOLUTIONS / f"{name}.py")
    pairs = [(wall("-m", "harness", "grade", target), wall("-c", "import numpy")) for _ in range(rounds + 1)][1:]
    ratios = sorted(a / b for a, b in pairs)
    seconds = statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
    print(
        f"one {name}: {statistics.median(ratios):.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f}; "
        f"medians {seconds[0]:.3f} s and {seconds[1]:.3f} s, {rounds} pairs)"
    )


class Here(Submission):
    """The solution itself, asked in this process."""

    def __init__(self, name: str) -> None:
        self.signatures, self._functions = registry.wanted(name), registry.solution(name).reference()
        self.calls = 0

    def ask(self, calls: Sequence[Call]) -> Iterator[Answer]:
        """Call the functions, as they are asked for."""
        for call in calls:
            self.calls += 1
            try:
                yield Answer(getattr(self._functions, call.function)(*call.args))
            except ValueError as error:
                yield Answer(raised=Raised("ValueError", str(error), ("ValueError", "Exception")))


def best(run: Callable[[], object], rounds: int) -> float:
    """The fastest of several, in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def isolation(name: str, rounds: int) -> None:
    """Print what isolation adds to one solved submission in a folder of them, graded by one job."""
    path = outline.SOLUTIONS / f"{name}.py"
    here, entries = Here(name), [Entry(str(path), name, "")] * 12
    reference = Remembered(registry.solution(name).reference(), registry.wanted(name), Calls())

    def checks() -> None:
        here.calls = 0
        for check in registry.kata(name).checks:
            check.function(here, reference, generator(SEED, name, check.name))

    def folder() -> float:
        moments = [time.perf_counter() for _ in batch.run(entries, SEED, None, 1)]
        return 1000 * (moments[-1] - moments[1]) / (len(moments) - 2)

    apart, inside = min(folder() for _ in range(rounds)), best(checks, 5 * rounds)
    added = apart - inside
    print(
        f"isolation {name}: {added:.1f} ms for {here.calls} calls, {80 * added / here.calls:.1f} for 80 "
        f"({apart:.1f} against {inside:.1f} ms)"
    )


def mixed(folder: Path, count: int) -> list[Entry]:
    """Submissions of the six katas: two fifths right, as many with a mistake, the others with two."""
    draw, entries = random.Random(0), []
    for number in range(count):
        name = SIX[number % len(SIX)]
        solution, mistakes = registry.solution(name), registry.kata(name).mistakes
        text = solution.source
        if number // 6 % 5 in (1, 3):
            text = solution.patched(draw.choice(draw.choice(mistakes).forms))
        while number // 6 % 5 == 4 and text == solution.source:
            first, second = (mistake.forms[0] for mistake in draw.sample(mistakes, 2))
            if not solution.places(first) & solution.places(second):
                try:
                    text = solution.patched((*first, *second))
                except ValueError:
                    continue
        path = folder / f"team{number}_{name}.py"
        path.write_text(text, encoding="utf-8")
        entries.append(Entry(str(path), name, f"team{number}"))
    return entries


def many(entries: list[Entry], jobs: int) -> None:
    """Print how many are graded a second."""
    start, before = time.perf_counter(), os.times()
    results = list(batch.run(entries, SEED, None, jobs))
    seconds, after = time.perf_counter() - start, os.times()
    spent = sum(after[:4]) - sum(before[:4])
    wrong = [one for one in results if one.result["verdict"] not in ("strong", "pass")]
    named = sum(bool(one.result["mistakes"]) for one in wrong)
    print(
        f"many: {len(entries) / seconds:.0f} a second with {jobs} jobs ({len(entries)} in {seconds:.1f} s; "
        f"{len(wrong)} fail, {named} of them named; {1000 * spent / len(entries):.0f} ms of processor time each, "
        f"which is {jobs * len(entries) / spent:.0f} a second when nothing else runs; load {os.getloadavg()[0]:.1f})"
    )


def resident() -> int:
    """MiB that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20


def memory(entries: list[Entry]) -> None:
    """Print the judge's memory while it grades them all."""
    with Judge() as judge:
        sizes = []
        for number, entry in enumerate(entries, start=1):
            grade(judge, entry.kata, Path(entry.file), SEED)
            if number in (len(entries) // 5, len(entries)):
                sizes.append(resident())
    print(f"memory: {sizes[0]} MiB after {len(entries) // 5}, {sizes[1]} MiB after {len(entries)}")


def main() -> None:
    """Measure everything."""
    given = [int(word) for word in sys.argv[1:]]
    rounds, count = (*given, *(9, 1000)[len(given) :])
    for name in ("causal_mask", "pre_ln_block"):
        one(name, rounds)
    for name in SIX:
        isolation(name, rounds)
    with tempfile.TemporaryDirectory() as folder:
        entries = mixed(Path(folder), count)
        many(entries, cores())
        if sys.platform == "linux":
            memory(entries)


if __name__ == "__main__":
    main()
