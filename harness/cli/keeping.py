"""`kata reset` and `kata attempts`: a clean stub, and what was written before."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from typing import Any

from harness import attempts
from harness.cli.common import Commands, command, pick, practising
from harness.practice import Practice, digest

VERSION = 1


def add(commands: Commands) -> None:
    """Add the two commands."""
    reset = command(
        commands,
        "reset",
        _reset,
        "put the clean stub back, and keep what you wrote",
        ["kata reset causal_mask", "kata attempts causal_mask      what was kept"],
    )
    reset.add_argument("name", metavar="NAME", help="the kata")
    reset.add_argument("--yes", action="store_true", help="do not ask first")

    listing = command(
        commands,
        "attempts",
        _attempts,
        "list what you wrote before, print it, or bring it back",
        [
            "kata attempts causal_mask              list them",
            "kata attempts causal_mask --show 2     print one",
            "kata attempts causal_mask --restore 2  bring it back; what stands there is kept",
        ],
    )
    listing.add_argument("name", metavar="NAME", help="the kata")
    which = listing.add_mutually_exclusive_group()
    which.add_argument("--show", type=int, metavar="N", help="print attempt N")
    which.add_argument("--restore", type=int, metavar="N", help="put attempt N into katas/")
    which.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def _reset(options: argparse.Namespace) -> int:
    name = pick(options.name)
    if sys.stdin.isatty() and not options.yes:
        try:
            answer = input(f"Put {name} back to its stub? What you wrote is kept. [Y/n] ")
        except EOFError:
            answer = "n"
        if answer.strip().lower() not in ("", "y", "yes"):
            print("Nothing was changed.")
            return 1
    with practising(options) as practice:
        practice.state(name)  # what stands there is graded, so that its verdict is known later
        number = practice.reset(name)
        print(f"katas/{name}.py is the clean stub." + _kept(name, number))
    return 0


def _kept(name: str, number: int | None) -> str:
    if number is None:
        return " Nothing was there to keep."
    return f" What was there is attempt {number} now, in\n{attempts.folder(name) / f'{number}.py'}"


def _attempts(options: argparse.Namespace) -> int:
    name = pick(options.name)
    with practising(options) as practice:
        if options.show is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(practice.attempt(name, options.show))
        elif options.restore is not None:
            practice.state(name)
            kept = practice.restore(name, options.restore)
            print(f"katas/{name}.py is attempt {options.restore} again." + _kept(name, kept))
        elif options.json:
            print(json.dumps({"version": VERSION, "kata": name, "attempts": _listed(practice, name)}, indent=2))
        else:
            _list(practice, name)
    return 0


def _list(practice: Practice, name: str) -> None:
    found = _listed(practice, name)
    print(f"{name}: {len(found)} kept in {attempts.folder(name)}" if found else f"{name}: none kept yet")
    for one in found:
        print(f"  {one['number']:>3}  {one['kept'][:16].replace('T', ' ')}  {one['lines']:>3} lines  {one['verdict']}")
    if found:
        print(f"To bring one back: kata attempts {name} --restore {found[-1]['number']}")


def _listed(practice: Practice, name: str) -> list[dict[str, Any]]:
    verdicts, found = practice.verdicts(name), []
    for number, path in attempts.kept(name).items():
        source = practice.attempt(name, number)
        found.append(
            {
                "number": number,
                "path": str(path),
                "kept": datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(timespec="seconds"),
                "lines": len(source.splitlines()),
                "verdict": verdicts.get(digest(source), "never graded"),
            }
        )
    return found
