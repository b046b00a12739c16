"""What the commands share: their parsers, the names of katas, and the word about what could not be saved."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harness import outline

if TYPE_CHECKING:  # grading needs no history
    from harness.history import History
    from harness.practice import Practice

STATUS = "exit status: 0 all pass, 1 some fail or are broken, 2 usage error,\n3 the kit itself failed"
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


class Usage(Exception):
    """A command that was asked for something that there is not; the text says what to type instead."""


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with examples."""

    examples: Sequence[str] = ()

    def format_help(self) -> str:
        """The examples, then what argparse makes of the rest."""
        return "\n".join(["examples:", *(f"  {line}" for line in self.examples), "", super().format_help()])

    def error(self, message: str) -> None:  # type: ignore[override]  # main prints it
        """Say what is wrong, and nothing else."""
        raise Usage(message)


def command(
    commands: Commands, name: str, run: Run, help: str, examples: Sequence[str], description: str = "", epilog: str = ""
) -> Parser:
    """Add a command; what it takes is added to the parser that comes back."""
    parser = commands.add_parser(
        name,
        help=help,
        description=description or f"{help[:1].upper()}{help[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.examples = examples
    parser.set_defaults(run=run)
    return parser


def pick(word: str) -> str:
    """The kata that a word means: its name, an unambiguous beginning or part of it, or its file."""
    names, path = outline.names(), Path(word)
    word = path.stem if path.suffix == ".py" and outline.is_kata(path.stem) else word
    if word in names:
        return word
    for found in ([n for n in names if n.startswith(word)], [n for n in names if word in n]):
        if word and len(found) == 1:
            return found[0]
        if word and found:
            raise Usage(f"{word!r} may be {' or '.join(found)}")
    everyone = f"the katas are {', '.join(names)}"
    raise Usage(f"there is no kata {word!r}; {meant(word, names, everyone)}")


def meant(word: str, known: Iterable[str], otherwise: str) -> str:
    """The words 'did you mean ...?' when a known word is close, and else the others."""
    import difflib  # only a typo needs it

    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f"did you mean {near[0]}?" if near else otherwise


@contextlib.contextmanager
def practising(options: argparse.Namespace) -> Iterator[Practice]:
    """The person's katas and history for one command; what could not be saved is said at its end."""
    from harness.practice import Practice, Refused

    with Practice(options.clock) as practice:
        try:
            yield practice
        except Refused as why:
            raise Usage(str(why)) from None
        finally:
            not_saved(practice.history)


def not_saved(history: History) -> None:
    """Say what could not be written down, if anything could not."""
    if history.problem:
        what = ", ".join(dict.fromkeys(event["event"] for event in history.unsaved))
        print(f"kata: {f'not saved ({what})' if what else 'cannot read'}: {history.problem}", file=sys.stderr)
