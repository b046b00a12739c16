"""An interview in one terminal: the prompt with the time left, the commands, the end, the follow-up questions."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable

from harness import debrief, report, scorecard
from harness.cli import terminal
from harness.interview import clocked, warnings
from harness.mock import Mock
from harness.room import Refused

HELP = """\
run           try the visible examples
ask TEXT      ask me something (a line that ends in ? is taken as one)
assume TEXT   say what you assume
hint          one of three hints; they count
submit        hand in this question; if it is not right yet, you go on
next          leave this question as it stands, for the next one of a set
question      the question once more
status        where we stand
pause resume  stop the clock and go on, if that was agreed (--pausable)
quit          end the interview; your file is graded as it stands
Ctrl-D        leave; the clock runs on, and `kata mock resume` comes back"""
WORDS = (*(line.split()[0] for line in HELP.splitlines()[:-1]), "resume", "stop", "help")
TRY = "Commands: run, ask, assume, hint, submit, question, status, quit, help."
RATE = "rate yourself: 1 no, 2 partly, 3 knew it > "
SPOKEN = {
    "half time": "Half of the time is over.",
    "five minutes": "Five minutes left.",
    "one minute": "One minute left.",
}


class Over(Exception):
    """The interview ended while the person was typing; the text says how."""


def converse(room: Mock, edit: bool = False) -> None:
    """Go on with an interview until it ends or the person leaves; then its questions."""
    room.watch()
    try:
        if going(room) and not _talk(room, Watch(room), edit):
            return
    except Over as how:
        print(f"\r\x1b[K{how}" if terminal.live() else str(how))
    close(room)


def going(room: Mock) -> bool:
    """Whether there is a question on the table, and time."""
    now = room.interview
    return not now.ended and now.current < len(now.questions) and room.left > 0


def _talk(room: Mock, watch: Watch, edit: bool) -> bool:
    """The questions of an interview, until it is over; False when the person leaves before that."""
    if not _symptom(room, watch):
        return False
    room.place()
    print(f"\n{room.question()}\n\n{report.wrap(TRY, report.width())}\n")
    if room.history.problem:
        print(report.wrap(f"Nothing of this can be saved, so it cannot be resumed: {room.history.problem}") + "\n")
    if edit:
        _edit(room)
    while going(room):
        typed = terminal.line(watch.prompt, watch.tick)
        watch.tick()
        if typed is None:
            _left(room)
            return False
        if typed:
            _answer(room, typed, edit)
    return True


class Watch:
    """Looks at the clock, at the files, and at what another terminal has done."""

    def __init__(self, room: Mock) -> None:
        self._room = room
        self._said = {left for left, _ in warnings(room.interview.limit) if room.left <= left}

    def prompt(self) -> str:
        """The time left, before what is typed."""
        now = self._room.interview
        return f"[{clocked(self._room.left)}{' paused' if now.paused else ''}] > "

    def tick(self) -> None:
        """Take a snapshot, warn once for each mark, and raise Over at the end."""
        room = self._room
        room.save()
        if room.interview.ended:
            raise Over("The interview was ended in another terminal.")
        if room.left <= 0:
            raise Over("The time is up.")
        due = [(left, name) for left, name in warnings(room.interview.limit) if room.left <= left]
        for left, name in due:
            if left not in self._said:
                self._said.add(left)
                terminal.say(SPOKEN[name])
                terminal.again(self.prompt())


def do(room: Mock, typed: str) -> str:
    """One command; the words for it."""
    word, _, rest = typed.partition(" ")
    found = [name for name in WORDS if name == word] or [name for name in WORDS if name.startswith(word.lower())]
    if typed.lower().startswith(("i assume ", "i'll assume ", "assuming ")):
        return room.assume(typed.partition("assum")[2].partition(" ")[2])
    if len(found) != 1 or (rest and found[0] not in ("ask", "assume")):
        if typed.endswith("?"):
            return room.ask(typed)
        return f"{word!r} is not a command here. {TRY}"
    if found[0] in ("ask", "assume"):
        if not rest.strip():
            return f"{found[0]} what? {found[0]} TEXT"
        return room.ask(rest) if found[0] == "ask" else room.assume(rest)
    if found[0] in ("quit", "stop"):
        debrief.finish(room, "quit")
        return "The interview is over."
    commands: dict[str, Callable[[], str]] = {"help": lambda: HELP, "question": room.question}
    return commands.get(found[0], getattr(room, found[0], room.status))()


def _answer(room: Mock, typed: str, edit: bool) -> None:
    kata = room.interview.kata
    try:
        words = do(room, typed) if _sure(room, typed) else "The interview goes on."
    except Refused as why:
        words = str(why)
    except KeyboardInterrupt:
        room.restart()
        words = "Interrupted. The clock runs on."
    lines = words.splitlines()
    print("\n".join(line if len(line) <= report.width() else report.wrap(line, report.width()) for line in lines))
    print(flush=True)
    if edit and going(room) and room.interview.kata != kata:
        _edit(room)


def _sure(room: Mock, typed: str) -> bool:
    """Whether the person on a terminal means to end it; a script does."""
    if typed not in ("quit", "stop") or not sys.stdin.isatty():
        return True
    asks = f"End the interview for good, with {clocked(room.left)} left? Ctrl-D only leaves. [y/N] "
    return (terminal.line(lambda: asks) or "").lower() in ("y", "yes")


def once(room: Mock, typed: str) -> None:
    """One command from a second terminal. The terminal of the interview, or `resume`, shows the end."""
    room.save()
    _answer(room, typed, edit=False)
    if not going(room):
        debrief.finish(room, "submitted")
        ended(room)


def ended(room: Mock) -> None:
    """Where the end of an interview is to be seen."""
    words = (
        f"Interview {room.number} is over: `kata debrief` shows its scorecard, `kata mock resume` asks the questions."
    )
    print(report.wrap(words, report.width()))


def _left(room: Mock) -> None:
    room.save()
    clock = "stands still" if room.interview.paused else f"runs on, {clocked(room.left)} left"
    print(
        report.wrap(f"You left interview {room.number}. Its clock {clock}: `kata mock resume` goes on.", report.width())
    )


def close(room: Mock) -> None:
    """Grade what has ended, show the scorecard, ask the follow-up questions."""
    now = room.interview
    if not now.did("graded"):
        print("Grading ...", flush=True)
    debrief.finish(room, "submitted" if now.current >= len(now.questions) else "time")
    print(f"\n{scorecard.text(debrief.document(room))}\n")
    waiting = debrief.open_questions(room.interview)
    whole = len(debrief.questions(room.interview))
    for number, (kata, question) in enumerate(waiting, whole - len(waiting) + 1):
        print(report.wrap(f"Follow-up {number} of {whole} ({kata}): {question.asks}", report.width()))
        answer = terminal.line(lambda: "your answer > ")
        if answer is None:
            print("The questions wait: `kata mock resume` asks them again.")
            return
        room.add("answer", kata=kata, question=question.asks, text=answer)
        print(report.indent(report.wrap(f"A model answer: {question.answer}", report.width() - 2)))
        rating = terminal.line(lambda: RATE)
        while rating and rating not in ("1", "2", "3"):
            rating = terminal.line(lambda: RATE)
        if rating:
            room.add("rating", question=question.asks, rating=int(rating))
        print(flush=True)
    print(f"`kata debrief {room.number}` shows all of this again.")


def _symptom(room: Mock, watch: Watch) -> bool:
    """Before the code of a debugging interview: its symptom, the cause and the first test. False when left."""
    now = room.interview
    if not now.symptom or now.did("diagnosed"):
        return True
    print(f"\n{report.wrap(now.symptom, report.width())}\n")
    told = []
    for asks in ("What is the likely cause?", "What would you test first?"):
        print(asks)
        answer = terminal.line(watch.prompt, watch.tick)
        while answer is not None and (answer.endswith("?") or not answer):
            print("The symptom is all that I have. What is your guess?")
            answer = terminal.line(watch.prompt, watch.tick)
        if answer is None:
            _left(room)
            return False
        told.append(answer)
    room.add("diagnosed", cause=told[0], test=told[1])
    print("\nNoted. Here is the code.")
    return True


def _edit(room: Mock) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        print("--edit: neither $VISUAL nor $EDITOR is set", file=sys.stderr)
        return
    try:
        subprocess.run([*shlex.split(editor), str(room.file(room.interview.kata))], check=False)
    except (OSError, ValueError) as error:
        print(f"--edit: {editor}: {error}", file=sys.stderr)
