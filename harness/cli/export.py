"""`kata export`: a hand-out for candidates."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness import attempts, export, outline
from harness.cli.common import Commands, Usage, command, pick

EXAMPLES = (
    "kata export handout                       every kata",
    "kata export handout causal_mask pre_ln    these two",
    "kata grade returned/                      grade what comes back",
)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "export",
        _export,
        "write a hand-out for candidates: stubs without checks and solutions",
        EXAMPLES,
        "Write a folder to give to candidates: stubs with their prompts and examples, and a README.\n"
        "It holds no checks and no solutions.",
    )
    parser.add_argument("folder", metavar="DIR", help="a new or an empty folder")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which katas (default: all)")


def _export(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(map(pick, options.names))) or list(outline.names())
    folder = Path(options.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Usage(f"{folder} is not empty: name a new folder")
        for name, text in export.files(names):
            attempts.write(folder / name, text.encode())
    except OSError as error:
        raise Usage(f"nothing was written: {error.filename or folder}: {error.strerror or error}") from None
    print(f"{folder}: {', '.join(names)}, and a README.md for the candidates")
    print(f"Grade what comes back with: kata grade {folder}")
    return 0
