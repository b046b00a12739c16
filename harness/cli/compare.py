"""`kata compare`: your answer beside the solution, in behaviour, cost and code."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import outline, sidebyside
from harness.cli import comparison
from harness.cli.common import Commands, Usage, command, pick, practising
from harness.collect import kata_of
from harness.practice import Practice, digest, kata_file, record
from harness.report import place, width, wrap
from harness.schedule import PASSES
from harness.source import Unreadable, read

if TYPE_CHECKING:
    from harness.model import Report

BESIDE = 100
EXAMPLES = (
    "kata compare pre_ln_block                  what differs from the solution, and where",
    "kata compare pre --tokens 'the cat sat'    with these words in the pictures",
    "kata compare pre --head 1                  the attention of one head alone",
    "kata compare pre --code                    the code too, before it passes",
    "kata compare answer.py --kata split_heads  any file",
)
EPILOG = (
    "exit status: 0 compared, 1 there is nothing to compare, 2 usage error\n\n"
    "The code of the solution is shown when your file passes. Before that, --code\n"
    "shows it and counts as asking for the solution: the pass then puts the kata\nback into box 1."
)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "compare", _compare, "your answer beside the solution: behaviour, cost, code", EXAMPLES, epilog=EPILOG
    )
    parser.add_argument("file", metavar="NAME|FILE", help="a kata, or a file with an answer to one")
    parser.add_argument("--kata", metavar="NAME", help="which kata a file answers, when it does not tell")
    parser.add_argument("--tokens", metavar="TEXT", help="words for the rows of the pictures")
    parser.add_argument("--head", type=int, metavar="H", help="the attention of this head alone, from 0")
    parser.add_argument("--layer", type=int, metavar="N", help="the attention of this layer, from 0")
    code = parser.add_mutually_exclusive_group()
    code.add_argument("--code", action="store_true", help="show the code although it does not pass yet")
    code.add_argument("--no-code", action="store_true", help="leave the code out")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the drawn inputs (default 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def _compare(options: argparse.Namespace) -> int:
    name, path = _which(options)
    tokens = _tokens(options)
    with practising(options) as practice:
        practice.refuse_in_mock(name)
        from harness.compare import compare  # brings NumPy
        from harness.gallery import NoSuch
        from harness.judge import Judge

        file = place(path, 1).rpartition(":")[0]
        try:
            with Judge() as judge:
                document, graded = compare(judge, name, path, options.seed, file, tokens, options.head, options.layer)
        except NoSuch as what:
            raise Usage(str(what)) from None
        if document["state"] != "not started" and path.exists():
            _remember(practice, name, path, graded)
        why = "" if document["state"] not in ("compared", "ended") else _hidden(practice, name, graded, options)
        if why:
            document["code"] = None
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print(comparison.text(document, graded))
        if "code" in document:
            print("\n" + (wrap(why, width()) if why else _code(document)))
    return 0 if document["state"] in ("compared", "ended") else 1


def _which(options: argparse.Namespace) -> tuple[str, Path]:
    """The kata and the file: a name stands for the person's own file."""
    if options.seed < 0:
        raise Usage("a seed is a whole number from 0")
    if options.head is not None and options.head < 0:
        raise Usage("a head is a whole number from 0")
    path = Path(options.file)
    if options.kata is None and path.suffix != ".py" and not path.is_file():
        own = pick(options.file)
        return own, kata_file(own)
    name = pick(options.kata) if options.kata is not None else kata_of(path)
    if name is None:
        raise Usage(f"{path}: neither the file's name nor its functions tell which kata it is: use --kata NAME")
    return name, path


def _tokens(options: argparse.Namespace) -> list[str]:
    tokens = str(options.tokens or "").split()
    if options.tokens is not None and not 1 <= len(tokens) <= 16:
        raise Usage("--tokens takes 1 to 16 words in quotes, such as --tokens 'the cat sat'")
    return tokens


def _remember(practice: Practice, name: str, path: Path, graded: Report) -> None:
    """Record the comparison, and the grading of the person's own file where it is news."""
    practice.history.append("compare", kata=name)
    if path.resolve() != kata_file(name).resolve():
        return
    try:
        source = read(path)
    except Unreadable:
        return
    if digest(source) != practice.standings()[name].digest:
        record(practice.history, graded, source, "compare")


def _hidden(practice: Practice, name: str, graded: Report, options: argparse.Namespace) -> str:
    """Why the solution's code is not shown, or nothing; to ask for it before a pass is written down."""
    if options.no_code:
        return "The code was left out (--no-code)."
    standing = practice.standings()[name]
    if graded.verdict in PASSES or standing.passed or standing.shown:
        return ""
    if not options.code:
        return f"The code of the solution is shown when this passes, or with --code. A hint: kata hint {name}"
    practice.history.append("solution", kata=name, shown=True)
    return ""


def _code(document: dict[str, Any]) -> str:
    """The two sources beside each other, or as a diff where there is too little room."""
    if not document["code"]:
        return f"The file is too long to set beside {outline.SOLUTIONS / document['kata']}.py."
    parts = [sidebyside.Part(p["name"], tuple(sidebyside.Row(*row) for row in p["rows"])) for p in document["code"]]
    columns = shutil.get_terminal_size().columns
    if columns >= BESIDE:
        lines = ["Code, function by function (| differs, < only yours, > only the solution's)", ""]
        return "\n".join([*lines, *sidebyside.columns(parts, columns - 1)]).rstrip()
    lines = ["Code, function by function (- yours, + the solution's)", ""]
    return "\n".join([*lines, *sidebyside.stacked(parts, max(40, columns - 1))]).rstrip()
