"""The report as one HTML file that needs nothing else: no script, no network, no other file.

It reads the document of `portfolio` and nothing else. Whatever a person wrote in it is escaped by `markup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.markup import Html, join, tag, written
from harness.page import interviews, progress, work
from harness.page.style import css

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
Data = Mapping[str, Any]


def report(whole: Data) -> str:
    """The page of everything."""
    tried = _tried(whole)
    tried.sort(key=lambda one: one.get("verdict") in ("pass", "strong"))  # what fails comes first
    names = {one["kata"] for one in tried}
    marked = {**whole, "katas": [{**one, "linked": one["kata"] in names} for one in whole["katas"]]}
    held = whole["interviews"]
    facts = [f"{progress.passing(whole['katas'])} of {len(whole['katas'])} pass"]
    due = sum(one["due_now"] for one in whole["katas"])
    facts += [f"{due} due"] if due else []
    facts += [f"{len(held)} interview{'' if len(held) == 1 else 's'}"] if held else []
    sections = [
        ("progress", "Progress", progress.section(marked)),
        _section("katas", "Last attempts", [work.attempt(one) for one in tried]),
        _section("interviews", "Interviews", [interviews.history(whole["times"]), *map(interviews.debrief, held)]),
        _section("answers", "Follow-up answers", interviews.answers(held, whole["quiz"])),
    ]
    empty = not names and not held
    lead = "Nothing is written yet. The first kata takes five minutes." if empty else " · ".join(facts)
    return _page("Kata report", whole["day"], lead, [s for s in sections if s])


def interview(whole: Data) -> str:
    """The page of one interview."""
    held = whole["interview"]
    tried = [work.attempt(one) for one in _tried(whole)]
    sections = [
        _section("debrief", "Debrief", [interviews.debrief(held)]),
        _section("katas", "What you wrote", tried),
        _section("answers", "Follow-up answers", interviews.answers([held], ())),
    ]
    lead = ", ".join(q["kata"] for q in held["questions"])
    return _page(f"Interview {held['id']}", whole["day"], lead, [s for s in sections if s])


def _tried(whole: Data) -> list[Data]:
    """The attempts that there are, and those that are hidden."""
    return [one for one in whole["attempts"] if one["source"] is not None or one["hidden"]]


def _section(name: str, title: str, parts: Sequence[Html | None]) -> tuple[str, str, Html] | None:
    """A section with its link in the navigation; None when nothing is in it."""
    inside = [part for part in parts if part]
    if not inside:
        return None
    heading = tag("h2", title, id=f"{name}-title")
    return name, title, tag("section", heading, *inside, id=name, aria_labelledby=f"{name}-title")


def _page(title: str, day: str, lead: str, sections: Sequence[tuple[str, str, Html]]) -> str:
    links = [tag("li", tag("a", words, href=f"#{name}")) for name, words, _ in sections]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Html(css())),
    )
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        tag(
            "header",
            tag("p", f"kata-kit · {written(day)}", class_="kicker"),
            tag("h1", title),
            tag("p", lead, class_="lead"),
        ),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(part for _, _, part in sections), id="main", tabindex=-1),
        tag("footer", "Made by kata-kit on this machine. This file loads nothing and sends nothing."),
    )
    return join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")
