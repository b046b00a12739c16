"""What a checks file declares: a kata with its checks, its mistakes, and what an interviewer says and asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.model import Kind, Level, Submission

CheckFunction = Callable[[Submission, Any, Any], None]
Form = tuple[tuple[str, str], ...]


class Check(NamedTuple):
    """One hidden check: `function(submission, reference, rng)` raises Wrong or returns."""

    name: str
    title: str
    level: Level
    function: CheckFunction


class Mistake(NamedTuple):
    """A named mistake: patches that turn the solution into it, and the words for it.

    `forms` are the ways to make the same mistake, each a tuple of (old, new) replacements in the solution's source,
    where `old` must stand exactly once. `says` is one sentence; `look` is where to look; `hint` is what to think of,
    in words, never in code. `check` names the check that recognises it, where the values of answers cannot show it.
    """

    name: str
    says: str
    look: str
    forms: tuple[Form, ...]
    kind: Kind = "fault"
    level: Level = "core"
    hint: str = ""
    check: str = ""


class Term(NamedTuple):
    """A term of the contract that a mock's prompt leaves out, and that a candidate should ask for or assume.

    `topic` names it in three or four words; `asks` is how a candidate would ask, `answer` what the interviewer says.
    `words` are regular expressions that recognise the topic in free text, `against` those that recognise an assumption
    which the contract contradicts. `mistakes` are the conventions that follow from never asking.
    """

    topic: str
    asks: str
    answer: str
    words: tuple[str, ...]
    against: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()


class Question(NamedTuple):
    """What an interviewer asks next, and a model answer of at most 80 words."""

    asks: str
    answer: str


class Kata:
    """One kata as its checks file declares it; the registry gives it the file's name."""

    name = ""

    def __init__(self, track: int, minutes: int, functions: tuple[str, ...]) -> None:
        self.track, self.minutes, self.functions = track, minutes, functions
        self.checks: list[Check] = []
        self.mistakes: list[Mistake] = []
        self.hints: list[str] = []
        self.terms: list[Term] = []
        self.facts: list[Term] = []
        self.questions: list[Question] = []
        self.shapes: dict[str, str] = {}

    def core(self, function: CheckFunction) -> CheckFunction:
        """Declare a check that decides pass or fail; its docstring is the sentence that the person reads."""
        return self._add(function, "core")

    def follow_up(self, function: CheckFunction) -> CheckFunction:
        """Declare a check of what an interviewer asks next; it never turns a pass into a fail."""
        return self._add(function, "follow-up")

    def _add(self, function: CheckFunction, level: Level) -> CheckFunction:
        title = " ".join((function.__doc__ or "").split())
        self.checks.append(Check(function.__name__, title, level, function))
        return function

    def mistake(
        self,
        name: str,
        says: str,
        *forms: Form | tuple[str, str],
        look: str,
        kind: Kind = "fault",
        level: Level = "core",
        hint: str = "",
        check: str = "",
    ) -> None:
        """Catalogue a mistake. A form is one (old, new) pair, or a tuple of such pairs."""
        whole = tuple(((form,) if isinstance(form[0], str) else form) for form in forms)
        self.mistakes.append(Mistake(name, says, look, whole, kind, level, hint, check))

    def hint(self, *words: str) -> None:
        """The three hints for who has no idea yet, from a nudge to the whole thought, never the code."""
        self.hints.extend(words)

    def term(
        self,
        topic: str,
        asks: str,
        answer: str,
        words: tuple[str, ...],
        against: tuple[str, ...] = (),
        mistakes: tuple[str, ...] = (),
    ) -> None:
        """A term that a mock's prompt leaves out: a clarifying question with its answer."""
        self.terms.append(Term(topic, asks, answer, words, against, mistakes))

    def fact(self, topic: str, asks: str, answer: str, words: tuple[str, ...]) -> None:
        """What the contract decides and an interviewer answers plainly: nobody is scored for asking it."""
        self.facts.append(Term(topic, asks, answer, words))

    def question(self, asks: str, answer: str) -> None:
        """A follow-up question with its model answer."""
        self.questions.append(Question(asks, answer))

    def shape(self, **intermediates: str) -> None:
        """The intermediates that a candidate narrates: the solution's own name for each, and its shape in letters."""
        self.shapes.update(intermediates)
