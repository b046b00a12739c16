"""The `kata` command: parses, calls, prints, exits."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from harness import outline, registry, report, stubs
from harness.grade import grade
from harness.judge import Judge
from harness.model import Report
from harness.source import Unreadable, read

EXAMPLES = """\
examples:
  kata grade katas/causal_mask.py          the verdict for one file
  kata grade answer.py --kata split_heads  when the file does not tell its kata
  kata grade answer.py --json              the same as one JSON document
  kata grade answer.py --seed 7            the same drawn inputs again

exit status: 0 all pass, 1 some fail or are broken, 2 usage error, 3 the kit itself failed
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(argv)
    status: int = options.run(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kata",
        description="Katas for transformer decoders: grade a submission and name its mistake.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kata-kit {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "grade",
        help="grade a file against the hidden checks",
        description="Grade a file against the hidden checks of its kata.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="a Python file with an answer to one kata")
    command.add_argument("--kata", metavar="NAME", help="which kata (else by the file's name or its functions)")
    command.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    command.add_argument("--seed", type=int, metavar="N", help="seed of the drawn inputs (default: a fresh one)")
    command.set_defaults(run=_grade)
    return parser


def _version() -> str:
    try:
        return metadata.version("kata-kit")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _grade(options: argparse.Namespace) -> int:
    if options.kata is not None and not outline.is_kata(options.kata):
        near = registry.nearest(options.kata)
        known = f"did you mean {near}?" if near else f"the katas are {', '.join(outline.names())}"
        print(f"kata grade: there is no kata {options.kata!r}; {known}", file=sys.stderr)
        return 2
    if options.seed is not None and options.seed < 0:
        print("kata grade: a seed is a whole number from 0", file=sys.stderr)
        return 2
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    with Judge() as judge:
        reports = [_grade_file(judge, file, options.kata, seed) for file in options.files]
    if options.json:
        print(json.dumps(report.document(reports, seed), indent=2))
    else:
        print("\n\n".join(report.verdict(one) for one in reports))
        print(f"\nseed {seed} (the same inputs again: --seed {seed})")
    return _status(reports)


def _grade_file(judge: Judge, file: str, name: str | None, seed: int) -> Report:
    path = Path(file)
    found = name or _kata_of(path)
    if found is None:
        try:
            read(path)
        except Unreadable as why:
            return Report(file, "", "", "broken", str(why))
        says = "neither the file's name nor its functions tell which kata it is: use --kata NAME"
        return Report(file, "", "", "broken", says)
    return grade(judge, found, path, seed, file)


def _kata_of(path: Path) -> str | None:
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


def _status(reports: Sequence[Report]) -> int:
    if any(o.outcome == "error" for one in reports for o in one.outcomes):
        return 3
    return 0 if all(one.verdict in ("strong", "pass") for one in reports) else 1
