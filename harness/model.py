"""The words of the kit: a kata, its checks and mistakes; a call and its answer; an outcome and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Level = Literal["core", "follow-up"]
Status = Literal["passed", "failed", "error", "not started"]
Verdict = Literal["strong", "pass", "fail", "broken"]
Kind = Literal["fault", "convention"]


class Signature(NamedTuple):
    """What a function must take: how its signature should read, its parameters' names, and how many have no default."""

    text: str
    names: tuple[str, ...]
    required: int


class Call:
    """One call of a submission's function; `names` are the parameters' names, for messages.

    `given` keeps what solutions and mistakes answered to it, so that each is asked once a run.
    """

    __slots__ = ("args", "function", "given", "names")

    def __init__(self, function: str, args: tuple[Any, ...], names: tuple[str, ...] = ()) -> None:
        self.function, self.args, self.names = function, args, names
        self.given: dict[Any, Any] = {}

    def __repr__(self) -> str:
        """The call as it would be written, up to the size of its arrays."""
        return f"{self.function}({', '.join(map(repr, self.args))})"


class Frame(NamedTuple):
    """One line of a traceback, inside the person's own file."""

    path: str
    line: int
    function: str
    source: str


class Raised(NamedTuple):
    """What came back instead of a value: an exception, or (`fatal`) the end of the worker."""

    type: str
    message: str
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    fatal: bool = False

    def __str__(self) -> str:
        """The words for it, for one line of a message."""
        return self.message if self.fatal else f"raised {self.text}"

    @property
    def text(self) -> str:
        """Type and message, as Python prints them."""
        return f"{self.type}: {self.message}" if self.message else self.type


class Warned(NamedTuple):
    """A warning that the person's code caused, and the line of their file (0 when elsewhere)."""

    category: str
    message: str
    line: int


class Traced(NamedTuple):
    """What a variable was bound to while a call ran, or what a function returned (variable 'return')."""

    function: str
    variable: str
    line: int
    value: Any


class Answer(NamedTuple):
    """What one call gave: a value or an exception, and what happened on the way."""

    value: Any = None
    raised: Raised | None = None
    warnings: tuple[Warned, ...] = ()
    changed: tuple[str, ...] = ()
    prints: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0
    traced: tuple[Traced, ...] = ()


class Wrong(Exception):
    """Raised by a check: one line that says what is wrong, and what to show below it.

    `call` reproduces the failure; `mistake` names a catalogued mistake that the check itself recognised.
    """

    def __init__(
        self, says: str, *shows: str, call: Call | None = None, answer: Answer | None = None, mistake: str | None = None
    ) -> None:
        super().__init__(says)
        self.says, self.shows = says, shows
        self.call, self.answer, self.mistake = call, answer, mistake


class Function:
    """A function of a submission as the checks see it: calling it asks the worker."""

    def __init__(self, name: str, names: tuple[str, ...], ask: Callable[[Sequence[Call]], Iterable[Answer]]) -> None:
        self.name, self.names, self._ask = name, names, ask

    def call(self, *args: Any) -> Call:
        """The call as data."""
        return Call(self.name, args, self.names)

    def each(self, cases: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Call, Answer]]:
        """Ask for all the cases at once; the answers come in order, as they arrive."""
        calls = [self.call(*case) for case in cases]
        return zip(calls, self._ask(calls), strict=True)

    def __call__(self, *args: Any) -> Any:
        """The value of one call; Wrong when the person's code raised."""
        [(call, answer)] = self.each([args])
        if answer.raised is not None:
            raise Wrong(f"{call.function} {answer.raised}", call=call, answer=answer)
        return answer.value


class Submission:
    """Somebody's code behind the one door. `ask` takes calls and gives answers; functions are attributes."""

    signatures: Mapping[str, Signature]

    def ask(self, calls: Sequence[Call]) -> Iterable[Answer]:
        """Answer the calls, in order. The subclasses say where the code runs."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Function:
        """The function of that name, as something to call."""
        if name not in self.signatures:
            raise AttributeError(name)
        return Function(name, self.signatures[name].names, self.ask)


class Named(NamedTuple):
    """A mistake that was recognised, as a result carries it."""

    name: str
    kind: Kind
    says: str
    look: str = ""


class Outcome(NamedTuple):
    """What one check found. `repeats` marks a failure whose cause an earlier check has shown already."""

    check: str
    title: str
    level: Level
    outcome: Status
    says: str = ""
    shows: tuple[str, ...] = ()
    call: Call | None = None
    answer: Answer | None = None
    mistake: str | None = None
    repeats: bool = False
    seconds: float = 0.0
    prints: str = ""


class Report(NamedTuple):
    """One submission, graded."""

    file: str
    kata: str
    submitter: str
    verdict: Verdict
    says: str
    outcomes: tuple[Outcome, ...] = ()
    mistakes: tuple[Named, ...] = ()
    remark: str = ""
    trace: Raised | None = None
    line: int = 1
    seconds: float = 0.0
    peak_bytes: int = 0
    isolation: tuple[str, ...] = ()
