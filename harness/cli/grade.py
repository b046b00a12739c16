"""`kata grade`: the verdict for files and folders, for people and for programs."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.common import STATUS, Commands, Usage, command, pick

if TYPE_CHECKING:
    from harness.batch import Graded
    from harness.collect import Found
    from harness.model import Report

EXAMPLES = (
    "kata grade katas/causal_mask.py          the verdict for one file",
    "kata grade class/                        a folder: causal_mask.py, team3_causal_mask.py,",
    "                                         team3/causal_mask.py and the like",
    "kata grade class/ --html page.html --csv table.csv",
    "kata grade answer.py --kata split_heads  when the file does not tell its kata",
    "kata grade answer.py --json              one JSON document",
    "kata grade answer.py --seed 7            the same drawn inputs again",
)
LIMITS = "limits: 10 s for the import, 5 s for one call, 20 s for one submission; with --limit S\nS / 2, S / 4 and S"
OUTPUTS = ("junit", "gradescope", "csv", "html")
INTERRUPTED = 130
QUIET = 0.5  # seconds before a progress line appears


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "grade",
        _grade,
        "grade files and folders against the hidden checks",
        EXAMPLES,
        "Grade submissions against the hidden checks of their katas.",
        f"{LIMITS}\n\n{STATUS}",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a Python file with an answer, or a folder of them")
    parser.add_argument("--kata", metavar="NAME", help="which kata (else by the file's name or its functions)")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    parser.add_argument("--junit", metavar="PATH", help="write JUnit XML")
    parser.add_argument("--gradescope", metavar="PATH", help="write Gradescope's results.json")
    parser.add_argument("--csv", metavar="PATH", help="write a table for spreadsheets")
    parser.add_argument("--html", metavar="PATH", help="write a page of the class, which can be sorted")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the drawn inputs (default: a fresh one)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for one submission (default: 20)")
    parser.add_argument("--jobs", type=int, metavar="N", help="how many at once (default: the cores)")


def _grade(options: argparse.Namespace) -> int:
    name = None if options.kata is None else pick(options.kata)
    _refuse(options)
    seed = int.from_bytes(os.urandom(4), "big") if options.seed is None else options.seed
    from harness.collect import collect, cores, jobs_for
    from harness.forge import Forge

    found = collect(options.files, name)
    count = jobs_for(found.entries, options.jobs or cores())
    forge = Forge() if count == 1 else None  # it loads NumPy while we do
    from harness import batch, report, tally

    graded: list[Graded] = []
    progress, status = _Progress(len(found.entries)), None
    try:
        for one in batch.run(found.entries, seed, options.limit, count, forge):
            graded.append(one)
            progress.show(len(graded))
    except KeyboardInterrupt:
        status = INTERRUPTED
    progress.clear()
    graded.sort(key=lambda one: one.number)
    document = report.whole([one.result for one in graded], seed, found.skipped)
    if status is not None:
        document["interrupted"] = True
    _write(options, document)
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print(_text(graded, found, seed))
    if status is not None:
        print(f"kata grade: interrupted: {len(graded)} of {len(found.entries)} are graded", file=sys.stderr)
        return status
    if any(one.fault for one in graded):
        return 3
    return 0 if all(one.result["verdict"] in tally.GOOD for one in graded) else 1


def status(reports: Sequence[Report]) -> int:
    """The exit status for reports."""
    from harness import tally

    if any(o.outcome == "error" for one in reports for o in one.outcomes):
        return 3
    return 0 if all(one.verdict in tally.GOOD for one in reports) else 1


def _refuse(options: argparse.Namespace) -> None:
    """Say what is wrong with the options before any work is done."""
    if options.seed is not None and options.seed < 0:
        raise Usage("a seed is a whole number from 0")
    if options.jobs is not None and options.jobs < 1:
        raise Usage("--jobs takes a whole number from 1")
    if options.limit is not None and not 0 < options.limit < 86400:
        raise Usage("--limit takes a number of seconds above 0")
    for option in OUTPUTS:
        given = getattr(options, option)
        if given is None:
            continue
        path = Path(given)
        if path.is_dir():
            raise Usage(f"--{option} {given}: this is a folder, name a file in it")
        if not path.parent.is_dir():
            raise Usage(f"--{option} {given}: there is no folder {path.parent}")
        if path.suffix == ".py" or os.path.realpath(given) in map(os.path.realpath, options.files):
            raise Usage(f"--{option} {given}: this would write over a submission")


def _write(options: argparse.Namespace, document: dict[str, Any]) -> None:
    if not any(getattr(options, option) for option in OUTPUTS):
        return
    from harness import attempts, classpage, formats

    makers: dict[str, Callable[[dict[str, Any]], bytes]] = {
        "junit": formats.junit,
        "gradescope": formats.gradescope,
        "csv": formats.table,
        "html": classpage.page,
    }
    for option in OUTPUTS:
        if path := getattr(options, option):
            try:
                attempts.write(Path(path), makers[option](document))
            except OSError as error:
                raise OSError(f"--{option} {path}: {error.strerror or error}") from None


def _text(graded: Sequence[Graded], found: Found, seed: int) -> str:
    """What a person reads: one submission in full, several as a table."""
    from harness import report, tally

    parts = []
    if len(graded) == 1:
        [one] = graded
        parts.append(one.text)
        if one.result["checks"]:
            parts.append(f"{one.result['seconds']:.2f} s, {tally.memory(one.result)}")
    else:
        parts.append(tally.table([one.result for one in graded], report.width()))
    if found.skipped:
        lines = [f"  {file}: {why}" for file, why in found.skipped[:10]]
        more = [f"  and {len(found.skipped) - 10} more (--json lists them)"] if len(found.skipped) > 10 else []
        parts.append("\n".join(["passed over", *lines, *more]))
    parts.append(f"seed {seed} (the same inputs again: --seed {seed})")
    return "\n\n".join(parts)


class _Progress:
    """A line on the terminal while work is long; nothing where there is none."""

    def __init__(self, total: int) -> None:
        self._total, self._start, self._shown = total, time.monotonic(), False
        self._on = total > 1 and sys.stderr.isatty()

    def show(self, done: int) -> None:
        """Say how far it is."""
        seconds = time.monotonic() - self._start
        if self._on and seconds > QUIET:
            left = seconds / done * (self._total - done)
            print(
                f"\r{done} of {self._total} graded, about {left:.0f} s left \x1b[K", end="", file=sys.stderr, flush=True
            )
            self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
