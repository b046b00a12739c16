"""How an interview ends: its grading, and its debrief as data."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from harness import attempts, outline, registry, report
from harness.history import Event, History
from harness.interview import Did, Interview
from harness.kata import Kata, Question, Term
from harness.room import Room
from harness.symptoms import for_mistakes

VERSION = 1


def finish(room: Room, why: str) -> None:
    """End the interview, once, and grade each question as it stood at the end of the time."""
    with room.history.locked():
        if not room.interview.ended:
            late, unsure = room.settle()
            room.add("end", why=why, late=late, unsure=unsure)
    now = room.interview
    if not now.did("graded"):
        reports = [room.grade(kata, room.final(kata)) for kata in now.questions]
        results = report.document(reports, now.seed)["results"]
        with room.history.locked():
            if not room.interview.did("graded"):
                room.add("graded", results=results)
    with room.history.locked():
        known = {e.get("kata") for e in room.history.events("interviewed") if e.get("id") == now.id}
        for result in room.interview.did("graded")[-1].facts["results"]:
            if result["kata"] not in known:
                _record(room, now, result)


def unfinished(now: Interview) -> bool:
    """Whether an interview has ended without having been graded, because something killed it just then."""
    return bool(now.ended) and not now.did("graded")


def _record(room: Room, now: Interview, result: Mapping[str, Any]) -> None:
    """What the schedule learns of a question, and the attempt, which is kept."""
    kata = result["kata"]
    facts = {"verdict": result.get("verdict"), "seconds": round(now.spent(kata), 1), "par": _par(kata)}
    hints = len(now.did("hint", kata=kata))
    if kata not in now.planted:
        try:
            attempts.keep(kata, room.final(kata))
        except OSError as error:
            room.history.problem = room.history.problem or f"{attempts.folder(kata)}: {error.strerror or error}"
    room.history.append("interviewed", kata=kata, id=now.id, kind=now.kind, hints=hints, **facts)


def _par(kata: str) -> float:
    return 60.0 * outline.outline(kata).minutes


def questions(now: Interview) -> tuple[tuple[str, Question], ...]:
    """The follow-up questions of an interview: three for one question, two for each of several."""
    rng, count = random.Random(now.seed), 3 if len(now.questions) == 1 else 2
    pools = {name: registry.kata(name).questions for name in now.questions}
    return tuple((name, q) for name, pool in pools.items() for q in rng.sample(pool, min(count, len(pool))))


def open_questions(now: Interview) -> tuple[tuple[str, Question], ...]:
    """The follow-up questions without an answer so far."""
    answered = {did.facts["question"] for did in now.did("answer")}
    return tuple((kata, q) for kata, q in questions(now) if q.asks not in answered)


def clarified(now: Interview, kata: str, terms: Sequence[Term]) -> dict[str, tuple[str, str]]:
    """For each term's topic, how it was cleared up before the first submission, and the words.

    How is 'asked', 'assumed', 'assumed otherwise' or ''.
    """
    found = {term.topic: ("", "") for term in terms}
    for did in now.did("ask", "assume", "submit", kata=kata):
        if did.do == "submit":
            break
        topic = did.facts["topic"]
        if topic in found:
            how = "asked" if did.do == "ask" else "assumed otherwise" if did.facts["against"] else "assumed"
            if found[topic][0] != "asked":
                found[topic] = (how, did.facts["text"])
    return found


def document(room: Room) -> dict[str, Any]:
    """The debrief as data, in JSON's types; `kata debrief --json` prints it."""
    now = room.interview
    graded = now.did("graded")
    results = {result["kata"]: result for result in graded[-1].facts["results"]} if graded else {}
    end = now.did("end")
    late = end[-1].facts["late"] if end else ()
    models = {q.asks: q.answer for _, q in questions(now)}
    return {
        "version": VERSION,
        "id": now.id,
        "kind": now.kind,
        "started": now.started,
        "minutes": now.limit / 60,
        "seconds": round(now.elapsed, 1),
        "ended": now.ended,
        "time_unsure": bool(end and end[-1].facts.get("unsure")),
        "seed": now.seed,
        "questions": [_question(now, kata, results.get(kata, {}), kata in late) for kata in now.questions],
        "symptom": _symptom(now),
        "answers": [_answered(now, did, models.get(did.facts["question"], "")) for did in now.did("answer")],
    }


def _answered(now: Interview, did: Did, model: str) -> dict[str, Any]:
    asks = did.facts["question"]
    ratings = [rated.facts["rating"] for rated in now.did("rating") if rated.facts["question"] == asks]
    return {
        "kata": did.kata,
        "question": asks,
        "text": did.facts["text"],
        "rating": ratings[-1] if ratings else None,
        "model": model,
    }


def _question(now: Interview, kata: str, result: Mapping[str, Any], late: bool) -> dict[str, Any]:
    loaded = registry.kata(kata)
    terms = [] if kata in now.planted else loaded.terms
    how = clarified(now, kata, terms)
    runs, submits = now.did("run", kata=kata), now.did("submit", kata=kata)
    green = [d.at for d in submits if d.facts["verdict"] in ("pass", "strong")]
    began, planted = now.began(kata), {name for name, _ in now.planted.get(kata, ())}
    passed = result.get("verdict") in ("pass", "strong")
    return {
        "kata": kata,
        "verdict": result.get("verdict", ""),
        "says": result.get("says", ""),
        "seconds": round(now.spent(kata), 1),
        "par": now.limit if kata in now.planted else _par(kata),
        "first_run": round(runs[0].at - began, 1) if runs else None,
        "green": round(green[0] - began, 1) if green else round(now.spent(kata), 1) if passed else None,
        "runs": len(runs),
        "hints": len(now.did("hint", kata=kata)),
        "asks": len(now.did("ask", kata=kata)),
        "submissions": len(submits),
        "changed_after_time": late,
        "changed_while_paused": any(kata in did.facts.get("changed", ()) for did in now.did("resume")),
        "clarified": [_term(term, *how[term.topic]) for term in terms],
        "mistakes": [_mistake(m, terms, how) for m in result.get("mistakes", ()) if m.get("name") not in planted],
        "mended": [
            n for n in _named(submits) if n not in {m.get("name") for m in result.get("mistakes", ())} | planted
        ],
        "also_said": _also_said(now, kata, how),
        "planted": _planted(now, loaded, passed),
        "checks": list(result.get("checks", ())),
    }


def _named(submits: Sequence[Did]) -> list[str]:
    """The mistakes that submissions made on the way."""
    return list(dict.fromkeys(str(name) for did in submits for name in did.facts.get("mistakes", ())))


def _also_said(now: Interview, kata: str, how: Mapping[str, tuple[str, str]]) -> list[dict[str, str]]:
    """What was asked or assumed and is about no term, or came after the first submission."""
    used = {text for _, text in how.values()}
    said = [did for did in now.did("ask", "assume", kata=kata) if did.facts["text"] not in used]
    return [{"do": did.do, "text": did.facts["text"], "topic": did.facts["topic"]} for did in said]


def _term(term: Term, how: str, text: str) -> dict[str, str]:
    return {"topic": term.topic, "how": how, "text": text, "contract": term.answer}


def _mistake(named: Mapping[str, Any], terms: Sequence[Term], how: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """A named mistake; a convention that follows from a term nobody cleared up is no bug, but a question not asked."""
    topic = next((term.topic for term in terms if named["name"] in term.mistakes), "")
    counts = {"": "a question not asked", "assumed otherwise": "an assumption that was wrong"}
    return {**named, "counts_as": counts.get(how[topic][0], "a bug") if topic else "a bug", "topic": topic}


def _planted(now: Interview, kata: Kata, passed: bool) -> list[dict[str, Any]]:
    says = {mistake.name: mistake.says for mistake in kata.mistakes}
    mended = {name: d.at for d in now.did("mended", kata=kata.name) for name in d.facts["mistakes"]}
    end = now.elapsed if passed else None
    return [
        {"name": name, "says": says.get(name, ""), "found": name in mended or passed, "at": mended.get(name, end)}
        for name, _ in now.planted.get(kata.name, ())
    ]


def _symptom(now: Interview) -> dict[str, str] | None:
    found = for_mistakes([name for picks in now.planted.values() for name, _ in picks]) if now.symptom else None
    if found is None:
        return None
    said = now.did("diagnosed")
    cause, test = (said[0].facts["cause"], said[0].facts["test"]) if said else ("", "")
    return {
        "says": now.symptom,
        "cause": cause,
        "test": test,
        "model_cause": found.cause,
        "model_test": found.first_test,
    }


def past(history: History) -> list[Event]:
    """The events that opened an interview."""
    return [event for event in history.events("mock") if event.get("do") == "start"]
