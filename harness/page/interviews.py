"""The interviews on the page: the times against par, each debrief, and the follow-up answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.interview import clocked
from harness.markup import Html, join, tag, written
from harness.page.work import VERDICTS, badge, listed
from harness.scorecard import COUNTS, ENDED
from harness.svg import chart

Data = Mapping[str, Any]


def history(times: Sequence[dict[str, Any]]) -> Html | None:
    """The chart of time against par."""
    if not times:
        return None
    words = "How long each question took; the dashed line is its par. A dot passed, a cross did not."
    return tag("figure", tag("figcaption", "Time against par"), tag("p", words), chart(times, "times"), class_="chart")


def debrief(whole: Data) -> Html:
    """One interview; its questions under it."""
    day, number = written(str(whole["started"])), whole["id"]
    if whole["running"]:
        inside = [tag("p", "It is running.", class_="soft")]
        return tag("article", tag("h3", f"Interview {number}"), *inside)
    if whole["damaged"]:
        words = "Its record is damaged, so there is no debrief of it."
        return tag("article", tag("h3", f"Interview {number}"), tag("p", words, class_="soft"))
    head = tag(
        "div",
        tag("h3", f"Interview {number}"),
        tag("span", whole["kind"], class_="badge"),
        tag("span", day, class_="soft"),
        class_="top",
    )
    used = f"{clocked(whole['seconds'])} of {clocked(60 * whole['minutes'])}"
    facts = _facts(("used", used), ("end", ENDED.get(whole["ended"], whole["ended"])))
    symptom = _symptom(whole["symptom"]) if whole["symptom"] else None
    return tag("article", head, facts, symptom, *(_question(q) for q in whole["questions"]), id=f"interview-{number}")


def _facts(*facts: tuple[str, object]) -> Html:
    return tag("dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in facts), class_="facts")


def _symptom(symptom: Data) -> Html:
    rows = (
        ("your cause", symptom["cause"] or "–"),
        ("the cause", symptom["model_cause"]),
        ("your first test", symptom["test"] or "–"),
        ("a good first test", symptom["model_test"]),
    )
    pairs = [part for key, value in rows for part in (tag("dt", key), tag("dd", value))]
    return join(tag("p", symptom["says"]), tag("dl", *pairs, class_="answers"))


def _question(q: Data) -> Html:
    good = q["verdict"] in ("pass", "strong")
    shown = VERDICTS.get(q["verdict"], q["verdict"] or "not graded")
    facts = [
        ("time", f"{clocked(q['seconds'])} of {clocked(q['par'])}"),
        ("first run", "–" if q["first_run"] is None else clocked(q["first_run"])),
        ("green at", "–" if q["green"] is None else clocked(q["green"])),
        *((key, q[key]) for key in COUNTS),
    ]
    return tag(
        "div",
        tag("div", tag("h4", q["kata"]), badge(shown, good), class_="top"),
        _facts(*facts),
        *_found(q),
        *_clarified(q["clarified"]),
        class_="question",
    )


def _found(q: Data) -> Iterator[Html]:
    """What was wrong, planted or their own."""
    if q["changed_after_time"]:
        yield tag("p", "The file was changed after the time was up: that does not count.")
    for one in q["planted"]:
        when = f" after {clocked(one['at'])}" if one["at"] is not None else ""
        how, name = f"Found{when}" if one["found"] else "Missed", tag("b", one["name"])
        yield tag("div", tag("p", f"{how}: ", name, f": {one['says']}."), class_="said" if one["found"] else "mistake")
    planted = {planted["name"] for planted in q["planted"]}
    for named in (m for m in q["mistakes"] if m["name"] not in planted):
        bug = named["counts_as"] == "a bug"
        words = (
            f": {named['says']}." if bug else f": right under another contract. A question not asked: {named['topic']}."
        )
        yield tag("div", tag("p", tag("b", named["name"]), words), class_="mistake" if bug else "said")
    if not q["mistakes"] and q["verdict"] in ("fail", "broken"):
        yield tag("p", q["says"])
    if q["verdict"] in ("pass", "strong"):
        later = [c["title"] for c in q["checks"] if c["level"] == "follow-up" and c["outcome"] == "failed"]
        yield from listed("Follow-ups that are still open", later)


def _clarified(terms: Sequence[Data]) -> list[Html]:
    """What was asked or assumed, and what was neither."""
    if not terms:
        return []
    cleared = sum(term["how"] in ("asked", "assumed") for term in terms)
    lines = []
    for term in terms:
        quote = f" ({term['text']})" if term["text"] else ""
        contract = None if term["how"] == "asked" else tag("span", f". The contract: {term['contract']}", class_="soft")
        lines.append(tag("li", f"{term['how'] or 'not clarified'}: {term['topic']}{quote}", contract))
    title = f"Clarified {cleared} of {len(terms)}"
    return [tag("details", tag("summary", title), tag("ul", *lines, class_="plain"))]


def answers(interviews: Sequence[Data], quiz: Sequence[Data]) -> list[Html]:
    """Follow-up questions with what was answered, those of the interviews first; what was left open is counted."""
    said = [(f"interview {i['id']}", a) for i in interviews for a in i.get("answers", ())]
    asked = [*said, *(("quiz", a) for a in quiz)]
    given = [_answer(a, where) for where, a in asked if _words(a) or a["rating"]]
    left = len(asked) - len(given)
    parts = [tag("article", *given)] if given else []
    return [*parts, *([tag("p", f"{left} more without an answer.", class_="soft")] if left and given else [])]


def _words(answer: Data) -> str:
    return str(answer.get("text") or answer.get("answer") or "")


def _answer(answer: Data, where: str) -> Html:
    rated = f"rated {answer['rating']} of 3" if answer["rating"] else "not rated"
    model = tag("details", tag("summary", "A good answer"), tag("p", answer["model"])) if answer["model"] else None
    return tag(
        "div",
        tag("h3", answer["question"]),
        tag("p", _words(answer) or "–", class_="answer"),
        tag("p", f"{answer['kata']} · {where} · {rated}", class_="soft small"),
        model,
        class_="question",
    )
