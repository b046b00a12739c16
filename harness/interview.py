"""A timed interview as data: what it asks, its clock, and everything that has happened in it.

`step` adds one event; nothing here reads a clock, a file or a person. An interview is the fold of its own events in the
history, so whoever reads them, after a crash or in a second terminal, sees the same one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness import outline
from harness.clock import Instant, gap
from harness.history import Event

PANEL_MINUTES = 45
WARM_UP = 8  # minutes of par, at most


@dataclass(frozen=True)
class Did:
    """One thing that happened: what, on which question, and at which second of the interview."""

    do: str
    kata: str
    at: float
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Interview:
    """An interview. `limit` is in seconds; `elapsed` is the time used up at `last`; `ended` says why it is over."""

    id: int
    kind: str
    questions: tuple[str, ...]
    limit: float
    folder: str
    seed: int
    pausable: bool
    planted: Mapping[str, Sequence[tuple[str, int]]]
    symptom: str
    started: str
    last: Instant
    elapsed: float = 0.0
    paused: bool = False
    current: int = 0
    ended: str = ""
    log: tuple[Did, ...] = ()

    @property
    def kata(self) -> str:
        """The question on the table; the last one when all are done."""
        return self.questions[min(self.current, len(self.questions) - 1)]

    def used(self, now: Instant) -> float:
        """Seconds of the interview's time used up by now, at most its limit."""
        running = 0.0 if self.paused or self.ended else gap(self.last, now)
        return min(self.limit, self.elapsed + running)

    def left(self, now: Instant) -> float:
        """Seconds that are left."""
        return self.limit - self.used(now)

    def did(self, *kinds: str, kata: str = "") -> tuple[Did, ...]:
        """What happened of some kinds, on one question or on all."""
        return tuple(d for d in self.log if d.do in kinds and kata in ("", d.kata))

    def began(self, kata: str) -> float:
        """The second at which a question came on the table; the interview's last one when it never did."""
        first = self.questions.index(kata)
        moves = [d.at for d in self.log if moves_on(d.do, d.facts)]
        return 0.0 if first == 0 else moves[first - 1] if len(moves) >= first else self.elapsed

    def spent(self, kata: str) -> float:
        """Seconds spent on a question, the last one until the end of the interview."""
        moves = [d.at for d in self.log if moves_on(d.do, d.facts)]
        number = self.questions.index(kata)
        end = moves[number] if number < len(moves) else self.elapsed
        return max(0.0, end - self.began(kata))


def moves_on(do: str, facts: Mapping[str, Any]) -> bool:
    """Whether an event ends its question: a submission that passes, or giving it up."""
    return do == "next" or (do == "submit" and facts.get("verdict") in ("pass", "strong"))


FACTS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "start": {
        "kind": str,
        "questions": list,
        "minutes": (int, float),
        "folder": str,
        "seed": int,
        "pausable": bool,
    },
    "ask": {"text": str, "topic": str},
    "assume": {"text": str, "topic": str, "against": bool},
    "diagnosed": {"cause": str, "test": str},
    "resume": {"changed": list},
    "hint": {"about": str},
    "run": {"right": int, "of": int},
    "submit": {"verdict": str},
    "mended": {"mistakes": list},
    "graded": {"results": list},
    "answer": {"kata": str, "question": str, "text": str},
    "rating": {"question": str, "rating": int},
    "end": {"why": str, "late": list},
}


def fits(event: Event) -> bool:
    """Whether an event of an interview is one that we wrote: a history is a file, and anything may stand in it."""
    facts = FACTS.get(str(event.get("do")), {})
    clock = event.get("clock")
    whole = isinstance(event.get("id"), int) and all(isinstance(event.get(k), kind) for k, kind in facts.items())
    if not whole or not isinstance(clock, list) or len(clock) != 3 or not isinstance(clock[2], str):
        return False
    numbers = [*clock[:2], event.get("minutes", 0)]
    if not all(isinstance(n, int | float) and abs(n) < 1e15 for n in numbers):  # NaN is not
        return False
    if event["do"] == "graded":
        return all(isinstance(r, dict) and _graded(r) for r in event["results"])
    if event["do"] == "start":
        names = event["questions"]
        return (
            bool(names)
            and all(isinstance(n, str) and outline.is_kata(n) for n in names)
            and _planted(event) is not None
        )
    return "kata" not in event or isinstance(event["kata"], str)


def _graded(result: Mapping[str, Any]) -> bool:
    """Whether a question's result is one that we wrote."""
    lists = [result.get("mistakes", []), result.get("checks", [])]
    whole = all(isinstance(some, list) and all(isinstance(one, dict) for one in some) for some in lists)
    return whole and outline.is_kata(str(result.get("kata"))) and isinstance(result.get("verdict"), str)


def _planted(event: Event) -> dict[str, tuple[tuple[str, int], ...]] | None:
    """The planted mistakes of a start; None when they are none of ours."""
    try:
        found = event.get("planted", {}).items()
        return {name: tuple((str(mistake), int(form)) for mistake, form in picks) for name, picks in found}
    except (AttributeError, TypeError, ValueError):
        return None


def begin(event: Event) -> Interview:
    """The interview that an event of `do` 'start' opens."""
    return Interview(
        id=event["id"],
        kind=event["kind"],
        questions=tuple(event["questions"]),
        limit=60.0 * event["minutes"],
        folder=event["folder"],
        seed=event["seed"],
        pausable=event["pausable"],
        planted=_planted(event) or {},
        symptom=str(event.get("symptom", "")),
        started=event["at"],
        last=Instant(*event["clock"]),
    )


def step(now: Interview, event: Event) -> Interview:
    """The interview after one more of its events."""
    moment, do = Instant(*event["clock"]), str(event["do"])
    at = now.used(moment)
    if moment.boot == now.last.boot:
        moment = max(moment, now.last, key=lambda one: one.steady)
    facts = {k: v for k, v in event.items() if k not in ("v", "at", "event", "id", "do", "clock")}
    kata = str(facts.pop("kata", now.kata))
    then = replace(now, last=moment, elapsed=at, log=(*now.log, Did(do, kata, at, facts)))
    if now.ended:
        return replace(then, last=now.last)
    if do in ("pause", "resume"):
        return replace(then, paused=do == "pause")
    if do == "end":
        return replace(then, ended=str(facts["why"]), paused=False)
    return replace(then, current=now.current + moves_on(do, facts))


def interviews(events: Iterable[Event]) -> dict[int, Interview]:
    """Every interview of a history by its number; an event that does not fit is passed over."""
    found: dict[int, Interview] = {}
    for event in events:
        if event["event"] != "mock" or not fits(event):
            continue
        if event["do"] == "start":
            found[event["id"]] = begin(event)
        elif event["id"] in found:
            found[event["id"]] = step(found[event["id"]], event)
    return found


def clocked(seconds: float) -> str:
    """Seconds as an interviewer's watch shows them: 4:10."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"


def warnings(limit: float) -> tuple[tuple[float, str], ...]:
    """The seconds left at which the interviewer speaks up, and the mark's name."""
    marks = [(limit / 2, "half time"), (300.0, "five minutes"), (60.0, "one minute")]
    return tuple((left, name) for left, name in marks if left <= limit / 2)


def draw(par: Mapping[str, int], minutes: float | None, rng: random.Random) -> tuple[str, ...]:
    """A warm-up and a main question that fit the minutes; one question when two do not; the shortest at least."""
    limit = 30 if minutes is None else minutes
    short = [name for name in par if par[name] <= WARM_UP]
    pairs = [(a, b) for a in short for b in par if par[b] > WARM_UP and par[a] + par[b] <= limit]
    if pairs:
        return rng.choice(pairs)
    single = [name for name in par if par[name] <= limit]
    return (rng.choice(single) if single else min(par, key=lambda name: par[name]),)
