"""`kata report`: the page that shows everything, and how a page is written to a file."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from harness import attempts, report
from harness.cli.common import Commands, Usage, command, practising
from harness.history import home


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "report",
        _report,
        "a page of it all: progress, last attempts with pictures, interviews",
        [
            "kata report                    write the page, and say where",
            "kata report --open             and show it in the browser",
            "kata report --out mine.html    to another file",
        ],
        "Write one HTML file that needs no network: progress, the last attempt at each kata with its mistake,\n"
        "pictures and the solution beside it, the interviews, and what you answered.",
    )
    parser.add_argument("--out", metavar="PATH", help=f"the file to write (default: {home() / 'report.html'})")
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def _report(options: argparse.Namespace) -> int:
    from harness import page, portfolio  # bring NumPy
    from harness.judge import Judge

    with practising(options) as practice, Judge() as judge:
        written = page.report(portfolio.document(practice, judge))
        path = save(written, Path(options.out) if options.out is not None else home() / "report.html")
    if options.open and not webbrowser.open(path.as_uri()):
        print("No browser could be opened: open the file yourself.")
    return 0


def save(page: str, path: Path) -> Path:
    """Write a page whole or not at all, and say where it is."""
    path = path.expanduser().absolute()
    if path.is_dir():
        raise Usage(f"{path} is a folder: name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        attempts.write(path, page.encode())
    except OSError as error:
        raise Usage(f"nothing was written: {error.filename or path}: {error.strerror or error}") from None
    print(f"The report: {report.place(path, 1).rpartition(':')[0]}")
    return path
