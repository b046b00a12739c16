"""The `kata` command: parses, calls, prints, exits. Each module adds its commands."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from harness import clock, outline
from harness.cli.common import STATUS, Commands, Parser, Usage, command, meant

MODULES = {
    "watch": ("watch",),
    "checking": ("show", "check", "hint", "solution"),
    "compare": ("compare",),
    "keeping": ("reset", "attempts"),
    "quiz": ("quiz", "shapes"),
    "mock": ("mock", "debug", "debrief"),
    "record": ("history",),
    "report": ("report",),
    "grade": ("grade",),
    "export": ("export",),
    "verify": ("verify", "new"),
}
EXAMPLES = (
    "kata                   where you are, and what to do next",
    "kata watch             work on the suggested kata: it is checked on each save",
    "kata show cau          the prompt; a part of a name will do for a kata",
    "kata mock              a timed interview",
    "kata check --help      examples for a command",
)
INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell reports them


def main(argv: Sequence[str] | None = None, clock: clock.Clock = clock.system) -> int:
    """Run one command; the exit status."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  # one that was closed from the start is None
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or sys.stdout
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    called = " ".join(["kata", *(word for word in words[:1] if not word.startswith("-"))])
    try:
        try:
            options = _parse(words)
            options.clock = clock
            status: int = options.run(options)
            return status
        finally:
            sys.stdout.flush()
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
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EBADF) and error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            print(f"{called}: the output cannot be written: {error.strerror}", file=sys.stderr)
            return 3
        print(f"{called}: {_fault(error)}", file=sys.stderr)
        return 3


def _parse(words: Sequence[str]) -> argparse.Namespace:
    first = next((word for word in words if not word.startswith("-")), None)
    wanted = [module for module, names in MODULES.items() if words[:1] == [first] and first in names]
    parser = Parser(
        prog="kata",
        description="Interview practice for transformer decoders. Without a command: the dashboard.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.examples = EXAMPLES
    if not wanted:
        parser.epilog = f"{_rule()}\n\nWhat you do is recorded in {_home()}\n(another folder: KATA_HOME).\n\n{STATUS}"
    parser.set_defaults(run=_dashboard)
    version = f"kata-kit {_version()}" if "--version" in words else ""
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("--json", action="store_true", help="the dashboard as one JSON document")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for module in wanted or MODULES:  # loading them all takes longer than some commands do
        import_module(f"harness.cli.{module}").add(commands)
    _add_help(commands, parser)
    if first is not None and first not in commands.choices:
        if outline.is_kata(first):
            raise Usage(f"{first} is a kata, not a command: kata show {first}, kata check {first}")
        raise Usage(f"there is no command {first!r}; {meant(first, commands.choices, 'kata --help lists them')}")
    return parser.parse_args(words)


def _rule() -> str:
    from harness.schedule import RULE

    return RULE


def _home() -> Path:
    from harness.history import home

    return home()


def _dashboard(options: argparse.Namespace) -> int:
    from harness.cli import dashboard

    return dashboard.run(options)


def _add_help(commands: Commands, parser: Parser) -> None:
    """`kata help`, for those who type that."""

    def run(options: argparse.Namespace) -> int:
        topics = {**commands.choices, "": parser}
        if options.topic == "schedule":
            print(_rule())
        elif options.topic in topics:
            topics[options.topic].print_help()
        else:
            raise Usage(f"there is no help on {options.topic!r}; {meant(options.topic, topics, 'try kata --help')}")
        return 0

    adding = command(commands, "help", run, "help on a command", ("kata help watch", "kata help schedule"))
    adding.add_argument("topic", nargs="?", default="", metavar="COMMAND", help="or 'schedule': what comes due when")


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
    return f"{says}. What you wrote and {_home()} are as they were. To report it, run it again with KATA_DEBUG=1."
