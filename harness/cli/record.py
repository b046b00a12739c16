"""`kata history`: what was done, one line each."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime

from harness.cli.common import Commands, command, pick, practising
from harness.history import VERSION, Event


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "history",
        _history,
        "what you did, newest last",
        [
            "kata history                   everything",
            "kata history causal_mask       one kata",
            "kata history --json            as one JSON document",
        ],
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one kata alone")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def _history(options: argparse.Namespace) -> int:
    name = pick(options.name) if options.name else None
    with practising(options) as practice:
        history = practice.history
        events = [e for e in history.events() if name is None or name in (e.get("kata"), *_questions(e))]
        if options.json:
            print(json.dumps({"version": VERSION, "events": events, "damaged": list(history.damaged)}, indent=2))
            return 0
        for event in events:
            print(f"{datetime.fromisoformat(event['at']).astimezone():%Y-%m-%d %H:%M}  {words(event)}")
        if not events:
            print("nothing yet")
        if history.damaged:
            lines = ", ".join(map(str, history.damaged[:10])) + (", ..." if len(history.damaged) > 10 else "")
            print(f"kata: not read: {len(history.damaged)} damaged ({lines}) in {history.path}", file=sys.stderr)
    return 0


def _questions(event: Event) -> list[str]:
    questions = event.get("questions")
    return list(map(str, questions)) if isinstance(questions, list) else []


def words(event: Event) -> str:
    """An event in plain words; one of a kind that is not known here says its name."""
    get, kind = event.get, event["event"]
    if kind == "mock":
        named = ", ".join(_questions(event)) or get("kata", "")
        return f"interview {get('id')}: {get('do')} {named}".rstrip()
    return f"{get('kata') or '-'}: {_did(event)}"


def _did(event: Event) -> str:
    get, kind = event.get, event["event"]
    match kind:
        case "check":
            core, named = get("core"), get("mistakes")
            counted = (
                f", {core[0]} of {core[1]} core checks" if isinstance(core, list) and len(core) == 2 and core[1] else ""
            )
            mistakes = f" ({', '.join(map(str, named))})" if isinstance(named, list) and named else ""
            return f"{get('verdict')}{counted}{mistakes}, by {get('by')}"
        case "hint":
            return f"hint {get('number')}" + (f" about {get('about')}" if get("about") else "")
        case "solution":
            return "solution shown" if get("shown") else "solution asked for"
        case "reset":
            return "back to the stub" + (f", attempt {get('kept')} kept" if get("kept") else "")
        case "restore":
            return f"attempt {get('number')} brought back"
        case "quiz":
            rated = f"{get('rating')} of 3" if event.get("rating") else "not rated"
            rated = f"{get('rating')} of 3" if get("rating") else "not rated"
            return f"quiz, {rated}: {get('question')}"
        case "shapes":
            return f"shapes, {get('right')} of {get('total')} right"
        case "interviewed":
            return f"{get('verdict')} in an interview, {get('seconds')} s"
    return str(kind)
