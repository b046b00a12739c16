"""The `kata` command: parses, calls, prints, exits. Each module adds its commands."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from harness import clock, outline
from harness.cli import grade, mock
from harness.cli.common import Parser, Usage, meant
from harness.history import home

MODULES = (grade, mock)
EXAMPLES = (
    "kata grade katas/causal_mask.py   the verdict for one file",
    "kata grade --help                 examples for a command",
)
END = "exit status: 0 well or all pass, 1 some fail or are broken, 2 usage error, 3 the kit itself failed"
INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell reports them


def main(argv: Sequence[str] | None = None, clock: clock.Clock = clock.system) -> int:
    """Run one command; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    called = " ".join(["kata", *(word for word in words[:1] if not word.startswith("-"))])
    try:
        options = _parse(words)
        options.clock = clock
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except Usage as wrong:
        print(f"{called}: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{called}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get("KATA_DEBUG"):
            raise
        print(f"{called}: {_fault(error)}", file=sys.stderr)
        return 3


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="kata",
        description="Interview practice for transformer decoders.",
        epilog=END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.examples = EXAMPLES
    parser.add_argument("--version", action="version", version=f"kata-kit {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in MODULES:
        module.add(commands)
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and first not in commands.choices:
        if outline.is_kata(first):
            raise Usage(f"{first} is a kata, not a command: kata show {first}, kata check {first}")
        raise Usage(f"there is no command {first!r}; {meant(first, commands.choices, 'kata --help lists them')}")
    return parser.parse_args(words)


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("kata-kit")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _fault(error: Exception) -> str:
    """The one line for a fault of the kit, and how to report it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    says = f"the kit itself failed, in {where} ({type(error).__name__}: {error})"
    return f"{says}. What you wrote and {home()} are as they were. To report it, run it again with KATA_DEBUG=1."
