"""`kata mock`, `kata debug` and `kata debrief`: timed interviews."""

from __future__ import annotations

import argparse
import json
import random
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness import outline
from harness.cli.common import Commands, Parser, Usage, command, not_saved, pick
from harness.history import History

if TYPE_CHECKING:
    from harness.mock import Mock

VERBS = ("resume", "status", "run", "ask", "assume", "hint", "submit", "next", "stop", "quit")
LONGEST = 600.0


def add(commands: Commands) -> None:
    """The three commands."""
    mock = command(
        commands,
        "mock",
        _mock,
        "a timed mock interview",
        (
            "kata mock                          a warm-up and a main question, 30 minutes",
            "kata mock pre_ln_block             this question, its par time",
            "kata mock --panel                  the full loop of 45 minutes",
            "kata mock resume                   go on after a crash, or after leaving",
            "kata mock status                   from a second terminal; so do run, hint, submit, next, stop,",
            "kata mock ask 'is it causal?'      ask TEXT and assume TEXT",
        ),
    )
    mock.add_argument("words", nargs="*", metavar="NAME", help=f"the questions; or one of {', '.join(VERBS)}")
    mock.add_argument("--track", type=int, metavar="N", help="draw the questions from this track (default: any)")
    mock.add_argument(
        "--panel", action="store_true", help="mask or softmax, then the block, then cross-attention on it"
    )
    for parser in (mock, _add_debug(commands)):
        parser.add_argument("--minutes", type=float, metavar="N", help="how long it takes (default: the par times)")
        parser.add_argument("--seed", type=int, metavar="S", help="draw the same interview again")
        parser.add_argument("--pausable", action="store_true", help="allow the clock to be stopped")
        parser.add_argument("--edit", action="store_true", help="open the file in $VISUAL or $EDITOR")
    _add_debrief(commands)


def _add_debug(commands: Commands) -> Parser:
    debug = command(
        commands,
        "debug",
        _debug,
        "a debugging interview: find the mistakes in somebody's code",
        (
            "kata debug                            one mistake, in a kata that is drawn",
            "kata debug pre_ln_block --mistakes 3  three of them",
            "kata mock resume                      go on after leaving",
        ),
    )
    debug.add_argument("words", nargs="*", metavar="NAME", help="the kata (default: drawn)")
    debug.add_argument("--mistakes", type=int, choices=(1, 2, 3, 4), metavar="1..4", help="how many (default 1)")
    return debug


def _add_debrief(commands: Commands) -> None:
    told = command(
        commands,
        "debrief",
        _debrief,
        "the debrief of an interview once more",
        (
            "kata debrief                    the last one",
            "kata debrief 3 --json           one of them, as data",
            "kata debrief --html mock.html   as a page, with what you wrote beside the solution",
        ),
    )
    told.add_argument("id", nargs="?", type=int, metavar="ID", help="the interview's number (default: the last)")
    how = told.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    how.add_argument("--html", metavar="PATH", help="write it as a page to this file")


def _mock(options: argparse.Namespace) -> int:
    from harness.interview import PANEL_MINUTES, draw

    history = History(options.clock)
    if options.words and options.words[0] in VERBS:
        return _verb(history, options.words[0], " ".join(options.words[1:]))
    seed, rng = _seed(options)
    if options.panel:
        if options.words:
            raise Usage("--panel has its own three questions")
        if options.track is not None:
            raise Usage("--panel has its own questions, of track 1")
        questions = (rng.choice(("causal_mask", "stable_softmax")), "pre_ln_block", "cross_attention")
        return _start(history, options, "panel", questions, options.minutes or PANEL_MINUTES, seed)
    if options.words:
        names = tuple(dict.fromkeys(pick(word) for word in options.words))
    else:
        par = {
            n: outline.outline(n).minutes for n in outline.names() if options.track in (None, outline.outline(n).track)
        }
        if not par:
            raise Usage(f"there is no track {options.track}")
        names = draw(par, options.minutes, rng)
    whole = sum(outline.outline(name).minutes for name in names)
    default = whole if options.words else max(whole, 30)
    return _start(history, options, "mock", names, options.minutes or default, seed)


def _debug(options: argparse.Namespace) -> int:
    from harness import plant, symptoms

    history, count = History(options.clock), options.mistakes or 1
    seed, rng = _seed(options)
    if len(options.words) > 1:
        raise Usage("a debugging interview is about one kata")
    names = [pick(options.words[0])] if options.words else rng.sample(outline.names(), len(outline.names()))
    for name in names:
        try:
            picks = plant.picks(name, count, rng)
            break
        except ValueError as why:
            problem = why
    else:
        raise Usage(str(problem))
    shown = symptoms.for_mistakes([mistake for mistake, _ in picks])
    minutes = options.minutes or max(10, outline.outline(name).minutes)
    facts = {"planted": {name: picks}, "symptom": shown.says if shown else ""}
    return _start(history, options, "debug", (name,), minutes, seed, **facts)


def _seed(options: argparse.Namespace) -> tuple[int, random.Random]:
    if options.minutes is not None and not 0 < options.minutes <= LONGEST:
        raise Usage(f"--minutes is a number above 0, at most {LONGEST:g}")
    if options.seed is not None and options.seed < 0:
        raise Usage("a seed is a whole number from 0")
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    return seed, random.Random(seed)


def _start(
    history: History,
    options: argparse.Namespace,
    kind: str,
    questions: Sequence[str],
    minutes: float,
    seed: int,
    **facts: Any,
) -> int:
    from harness import debrief
    from harness.cli import conversation
    from harness.interview import interviews
    from harness.mock import Mock
    from harness.room import Refused, start

    for old in interviews(history.events("mock")).values():
        if debrief.unfinished(old) or (not old.ended and old.left(history.clock()) <= 0):
            room = Mock(history, old.id)
            debrief.finish(room, "time")
            room.close()
            print(f"Interview {old.id} ended while you were away: kata debrief {old.id}\n")
    try:
        number = start(history, kind, questions, minutes, seed, pausable=options.pausable, **facts)
    except Refused as why:
        raise Usage(str(why)) from None
    room = Mock(history, number)
    try:
        print(f"Interview {number} · seed {seed}\n\n{room.rules()}")
        conversation.converse(room, options.edit)
    finally:
        room.close()
        not_saved(history)
    return 0


def _verb(history: History, verb: str, rest: str) -> int:
    from harness import debrief
    from harness.cli import conversation
    from harness.interview import interviews
    from harness.mock import Mock
    from harness.room import running

    now = running(history)
    if now is None:
        every = interviews(history.events("mock"))
        last = every[max(every)] if every else None
        if verb != "resume" or last is None or not debrief.open_questions(last):
            raise Usage("no interview is running: `kata mock` starts one")
        now = last
    room = Mock(history, now.id)
    try:
        if verb != "resume" and room.left <= 0:
            debrief.finish(room, "time")
            conversation.ended(room)
        elif verb == "resume":
            if room.left <= 0 and not now.ended:
                print("The time ran out while you were away.")
            elif not now.ended:
                print(room.resume())
            conversation.converse(room)
        else:
            conversation.once(room, f"{verb} {rest}".strip())
    finally:
        room.close()
        not_saved(history)
    return 0


def _debrief(options: argparse.Namespace) -> int:
    from harness import debrief, scorecard
    from harness.interview import clocked, interviews
    from harness.mock import Mock

    history = History(options.clock)
    every = interviews(history.events("mock"))
    number = options.id if options.id is not None else max(every, default=None)
    if number is None:
        raise Usage("there has been no interview yet: `kata mock` starts one")
    if number not in every:
        raise Usage(f"there is no interview {number}; there are {', '.join(map(str, every)) or 'none'}")
    room = Mock(history, number)
    try:
        if not every[number].ended and room.left > 0:
            raise Usage(f"interview {number} is running, {clocked(room.left)} left: `kata mock resume`")
        debrief.finish(room, "time")
        if options.html is not None:
            _page(room, options.html)
            return 0
        whole = debrief.document(room)
        print(json.dumps(whole, indent=2) if options.json else scorecard.text(whole))
    finally:
        room.close()
        not_saved(history)
    return 0


def _page(room: Mock, path: str) -> None:
    from pathlib import Path

    from harness import page, portfolio
    from harness.cli.report import save

    save(page.interview(portfolio.interview(room)), Path(path))
