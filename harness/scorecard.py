"""A debrief as text: the scorecard of an interview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness import report
from harness.interview import clocked

ENDED = {"submitted": "everything submitted", "time": "the time ran out", "quit": "ended early"}

SAID = {"ask": "asked", "assume": "assumed"}
COUNTS = ("runs", "asks", "hints", "submissions")


def text(whole: Mapping[str, Any]) -> str:
    """A debrief for a person."""
    head = f"Debrief of interview {whole['id']} · {clocked(whole['seconds'])} of {clocked(60 * whole['minutes'])} used"
    blocks = [_say(f"{head} · {ENDED.get(whole['ended'], whole['ended'])}", 0)]
    if whole["time_unsure"]:
        words = "The clock of this machine was set meanwhile: whether a file was changed after the time is unsure"
        blocks.append(_say(f"{words}, and it counts as it stands.", 0))
    if whole["symptom"]:
        blocks.append(_symptom_text(whole["symptom"]))
    blocks += [_question_text(question) for question in whole["questions"]]
    if whole["answers"]:
        blocks.append("Follow-up questions\n" + "\n\n".join(_answer_text(answer) for answer in whole["answers"]))
    return "\n\n".join(blocks)


def _say(words: str, by: int = 2) -> str:
    return report.indent(report.wrap(words, report.width() - by), by)


def _symptom_text(symptom: Mapping[str, str]) -> str:
    return "\n".join(
        [
            "The symptom",
            _say(symptom["says"]),
            _say(f"cause, you: {symptom['cause'] or '-'}"),
            _say(f"cause, model: {symptom['model_cause']}"),
            _say(f"first test, you: {symptom['test'] or '-'}"),
            _say(f"first test, model: {symptom['model_test']}"),
        ]
    )


def _question_text(q: Mapping[str, Any]) -> str:
    verdict = q["verdict"].upper() or "NOT GRADED"
    lines = [f"{q['kata']}: {verdict} in {clocked(q['seconds'])}, par {clocked(q['par'])}"]
    first = f"first run {clocked(q['first_run'])}" if q["first_run"] is not None else "never run"
    green = f"green at {clocked(q['green'])}" if q["green"] is not None else "never green"
    counts = (f"{q[key]} {key.removesuffix('s') if q[key] == 1 else key}" for key in COUNTS)
    lines.append(_say(" · ".join([first, green, *counts])))
    if q["changed_while_paused"]:
        lines.append(_say("The file was changed while the clock stood still."))
    if q["changed_after_time"]:
        lines.append(_say("The file was changed after the time was up: that does not count."))
    lines += [_planted_text(p) for p in q["planted"]]
    for m in q["mistakes"]:
        if m["counts_as"] == "a bug":
            lines.append(_say(f"{m['name']}: {m['says']}."))
        else:
            lines.append(
                _say(f"not a bug, but {m['counts_as']} ({m['topic']}): {m['name']}, right under another contract")
            )
    if q["mended"]:
        lines.append(_say(f"on the way, and mended: {', '.join(q['mended'])}"))
    if not q["mistakes"] and not q["planted"] and q["verdict"] in ("fail", "broken"):
        lines.append(_say(q["says"]))
    lines += [*_follow_ups(q), *_clarified_text(q["clarified"], q["verdict"] in ("pass", "strong"))]
    lines += [_say(f"you also {SAID[said['do']]}: '{said['text']}'") for said in q["also_said"]]
    return "\n".join(lines)


def _planted_text(planted: Mapping[str, Any]) -> str:
    when = f", after {clocked(planted['at'])}" if planted["at"] is not None else ""
    return _say(f"{'found' if planted['found'] else 'MISSED'}{when}: {planted['name']}: {planted['says']}.")


def _follow_ups(q: Mapping[str, Any]) -> list[str]:
    still = [c["title"] for c in q["checks"] if c["level"] == "follow-up" and c["outcome"] == "failed"]
    passed = q["verdict"] in ("pass", "strong")
    return [_say(f"follow-ups still open: {'; '.join(still)}")] if still and passed else []


def _clarified_text(terms: Sequence[Mapping[str, str]], passed: bool) -> list[str]:
    """How each term was cleared up; the contract's words where it was not, and the outcome may hang on it."""
    if not terms:
        return []
    cleared = [term for term in terms if term["how"] in ("asked", "assumed")]
    lines = [_say(f"clarified {len(cleared)} of {len(terms)}")]
    for term in terms:
        if term["how"]:
            lines.append(_say(f"{term['how']}: {term['topic']} ('{term['text']}')", 4))
        elif not passed:
            lines.append(_say(f"not clarified: {term['topic']}", 4))
        if term["how"] == "assumed otherwise" or (term["how"] != "asked" and not passed):
            lines.append(_say(f"the contract: {term['contract']}", 6))
    left = [term["topic"] for term in terms if not term["how"]]
    return [*lines, _say(f"not clarified: {', '.join(left)}", 4)] if left and passed else lines


def _answer_text(answer: Mapping[str, Any]) -> str:
    rated = f"rated {answer['rating']} of 3" if answer["rating"] else "not rated"
    lines = [_say(f"{answer['question']} ({answer['kata']}, {rated})"), _say(f"you: {answer['text'] or '-'}", 4)]
    return "\n".join([*lines, _say(f"model: {answer['model']}", 4)])
