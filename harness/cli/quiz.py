"""`kata quiz` and `kata shapes`: an interviewer's questions, and the shapes that a candidate narrates."""

from __future__ import annotations

import argparse
import random
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness import outline, report
from harness.cli.common import Commands, Usage, command, pick, practising
from harness.history import Event, History
from harness.schedule import in_mock

RATINGS = {"1": "no", "2": "partly", "3": "knew it"}
NEVER = 1.5  # between what was not known and what was known partly
SYMPTOMS = "symptoms"
HERE = " · yours to ask; the answer is this kata's"
SIZES = range(2, 12)


@dataclass(frozen=True)
class Card:
    """A question with its model answer."""

    kata: str
    asks: str
    answer: str
    note: str = ""


def add(commands: Commands) -> None:
    """Add the two commands."""
    quiz = command(
        commands,
        "quiz",
        _quiz,
        "an interviewer's questions, then the model answers",
        [
            "kata quiz                      five questions, the least known first",
            "kata quiz pre_ln --count 10    ten about one kata",
        ],
    )
    quiz.add_argument("name", nargs="?", metavar="NAME", help="one kata alone (default: all, and symptoms in training)")
    quiz.add_argument("--count", type=int, default=5, metavar="N", help="how many questions (default 5)")

    shapes = command(
        commands,
        "shapes",
        _shapes,
        "say the shape of each intermediate",
        ["kata shapes pre_ln_block       at sizes drawn afresh", "kata shapes cross --seed 7     the same sizes again"],
    )
    shapes.add_argument("name", metavar="NAME", help="the kata")
    shapes.add_argument("--seed", type=int, metavar="N", help="seed of the sizes (default: a fresh one)")


def _quiz(options: argparse.Namespace) -> int:
    if options.count < 1:
        raise Usage("--count is a whole number from 1")
    name, asked = pick(options.name) if options.name else "", 0
    with practising(options) as practice:
        if name:
            practice.refuse_in_mock(name)
        hidden = in_mock(practice.history.events("mock"))
        names = [n for n in ([name] if name else outline.names()) if n not in hidden]
        cards = _least_known(_cards(names, symptoms=not name), practice.history.events("quiz"))[: options.count]
        try:
            for card in cards:
                _ask(card, f"{asked + 1} of {len(cards)}", practice.history)
                asked += 1
        except EOFError:
            print()
    print(f"{asked} of {len(cards)} answered. The least known come first again:\n  kata quiz {name}".rstrip())
    return 0


def _cards(names: Iterable[str], symptoms: bool) -> Iterator[tuple[int, Card]]:
    """Every question with its place in its kata."""
    from harness import registry
    from harness.symptoms import SYMPTOMS as KNOWN

    for name in names:
        kata = registry.kata(name)
        said = [Card(name, q.asks, q.answer) for q in kata.questions]
        yield from enumerate([*said, *(Card(name, t.asks, t.answer, HERE) for t in kata.terms)])
    if symptoms:
        asks = "{} What is the cause, and what do you test first?"
        yield from enumerate(Card(SYMPTOMS, asks.format(s.says), f"{s.cause}\n\n{s.first_test}") for s in KNOWN)


def _least_known(cards: Iterable[tuple[int, Card]], events: Iterable[Event]) -> list[Card]:
    """By the last rating, then what was asked the longest ago; of what was never asked, each kata's first ones."""
    rated = {str(e.get("question")): (e.get("rating"), str(e["at"])) for e in events}

    def key(placed: tuple[int, Card]) -> tuple[float, str, int]:
        rating, at = rated.get(placed[1].asks, (NEVER, ""))
        return float(rating) if rating in (1, 2, 3) else NEVER, at, placed[0]

    return [card for _, card in sorted(cards, key=key)]


def _ask(card: Card, which: str, history: History) -> None:
    width = report.width()
    print(f"{which} · {card.kata}{card.note}\n{report.wrap(card.asks, width)}\n")
    answer = input("your answer (one line, may be empty): ").strip()
    print(f"\nA good answer:\n{report.indent(report.wrap(card.answer, width - 2))}\n")
    rating = ""
    try:
        while rating not in RATINGS:
            rating = input(f"did you know it? ({', '.join(f'{k} {v}' for k, v in RATINGS.items())}): ").strip()
    finally:  # an answer is kept though its rating is not given
        rated = int(rating) if rating in RATINGS else None
        history.append("quiz", kata=card.kata, question=card.asks, rating=rated, answer=answer)
    print()


def _shapes(options: argparse.Namespace) -> int:
    name = pick(options.name)
    seed = secrets.randbelow(1000) if options.seed is None else options.seed
    from harness import registry
    from harness.stagewords import HELD

    with practising(options) as practice:
        practice.refuse_in_mock(name)
        wanted, sizes = registry.kata(name).shapes, draw(random.Random(seed))
        if not wanted:
            raise Usage(f"{name} has no intermediate whose shape is worth asking")
        used = {"B", "T", "d", "H"} | set(re.findall(r"[A-Za-z]+", " ".join(wanted.values())))
        print(f"{name} at {', '.join(f'{k} = {v}' for k, v in sizes.items() if k in used - {'dh'})}\nthe shape of")
        wrong, asked = [], 0
        try:
            for variable, letters in wanted.items():
                right = _asked(HELD.get(variable, variable), letters, sizes)
                asked += 1
                wrong += [] if right else [variable]
        except EOFError:
            print()
        print(f"{asked - len(wrong)} of {asked} right. The same sizes again:\n  kata shapes {name} --seed {seed}")
        practice.history.append(
            "shapes", kata=name, right=asked - len(wrong), total=asked, wrong=wrong, of=len(wanted), seed=seed
        )
    return 0


def draw(rng: random.Random) -> dict[str, int]:
    """Sizes that no two letters share; H divides d, and N counts the tokens that have a next one."""
    while True:
        B, T, S, H, dh, f, V = rng.sample(SIZES, 7)
        sizes = {"B": B, "T": T, "S": S, "d": H * dh, "H": H, "dh": dh, "f": f, "V": V, "N": T - 1}
        if len(set(sizes.values())) == len(sizes):
            return sizes


def _asked(variable: str, letters: str, sizes: dict[str, int]) -> bool:
    """Ask for one shape, and grade the answer at once."""
    want = tuple(sizes[word] if word in sizes else int(word) for word in re.findall(r"\w+", letters))
    while True:
        typed = input(f"  {variable}: ")
        inner = typed.strip().strip("()[]")
        if re.findall(r"\w+", inner) == re.findall(r"\w+", letters):  # in letters it is as right
            inner = ", ".join(map(str, want))
        if re.fullmatch(r"(\s*\d+\s*,?)*\s*", inner):
            break
        print("    type it as (2, 4, 8), 2,4,8 or 2 4 8; an empty line if you do not know")
    got = tuple(map(int, re.findall(r"\d+", inner))) if typed.strip() else None
    print("    right" if got == want else f"    it is {want}, that is {letters}")
    return got == want
