"""`kata grade`: the verdict for any file, as text and as JSON."""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness import outline, stubs
from harness.cli.common import Commands, Usage, command, pick
from harness.source import Unreadable, read

if TYPE_CHECKING:
    from harness.judge import Judge
    from harness.model import Report

EXAMPLES = (
    "kata grade katas/causal_mask.py          the verdict for one file",
    "kata grade answer.py --kata split_heads  when the file does not tell its kata",
    "kata grade answer.py --json              the same as one JSON document",
    "kata grade answer.py --seed 7            the same drawn inputs again",
)
STATUS = "exit status: 0 all pass, 1 some fail or are broken, 2 usage error,\n3 the kit itself failed"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "grade",
        _grade,
        "grade a file against the hidden checks",
        EXAMPLES,
        "Grade a file against the hidden checks of its kata.",
        STATUS,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a Python file with an answer to one kata")
    parser.add_argument("--kata", metavar="NAME", help="which kata (else by the file's name or its functions)")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the drawn inputs (default: a fresh one)")


def _grade(options: argparse.Namespace) -> int:
    name = None if options.kata is None else pick(options.kata)
    if options.seed is not None and options.seed < 0:
        raise Usage("a seed is a whole number from 0")
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    from harness import report
    from harness.judge import Judge

    with Judge() as judge:
        reports = [_grade_file(judge, file, name, seed) for file in options.files]
    if options.json:
        print(json.dumps(report.document(reports, seed), indent=2))
    else:
        print("\n\n".join(report.verdict(one) for one in reports))
        print(f"\nseed {seed} (the same inputs again: --seed {seed})")
    return status(reports)


def _grade_file(judge: Judge, file: str, name: str | None, seed: int) -> Report:
    from harness.grade import grade
    from harness.model import Report

    path = Path(file)
    found = name or kata_of(path)
    if found is None:
        try:
            read(path)
        except Unreadable as why:
            return Report(file, "", "", "broken", str(why))
        says = "neither the file's name nor its functions tell which kata it is: use --kata NAME"
        return Report(file, "", "", "broken", says)
    return grade(judge, found, path, seed, file)


def kata_of(path: Path) -> str | None:
    """The kata of a file: from its name (`causal_mask.py`, `team3_causal_mask.py`), or from what it defines."""
    stem = path.stem
    named = [name for name in outline.names() if stem == name or stem.endswith(f"_{name}")]
    if named:
        return max(named, key=len)
    try:
        source = read(path)
    except Unreadable:
        return None
    wanted = {name: outline.outline(name).functions for name in outline.names()}
    return next((n for n, fs in wanted.items() if any(stubs.defined_at(source, f) is not None for f in fs)), None)


def status(reports: Sequence[Report]) -> int:
    """The exit status of a grading run."""
    if any(o.outcome == "error" for one in reports for o in one.outcomes):
        return 3
    return 0 if all(one.verdict in ("strong", "pass") for one in reports) else 1
