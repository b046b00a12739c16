"""Where every kata stands, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from harness.markup import Html, tag, written
from harness.page.work import badge

Data = Mapping[str, Any]
GOOD, BAD = ("passing", "strong"), ("failing", "broken")
BOXES = 5
WHY = {
    "failing": "does not pass yet",
    "due": "is due again",
    "new": "is new",
    "mock": "An interview is running",
    "": "Nothing is left for today; an interviewer's questions are",
}


def section(whole: Data) -> Html:
    """The table, and what to do next."""
    todo = whole["next"]
    why = " ".join(part for part in (todo["kata"], WHY.get(todo["why"], "")) if part)
    head = tag(
        "tr", *(tag("th", words, scope="col") for words in ("Kata", "State", "Box", "Best / par", "Last", "Due"))
    )
    several = len({one["track"] for one in whole["katas"]}) > 1
    bodies = [
        tag("tbody", _track(track) if several else None, *(_row(one, whole["day"]) for one in katas))
        for track, katas in groupby(whole["katas"], lambda one: one["track"])
    ]
    return tag(
        "section",
        tag("h2", "Progress", id="progress-title"),
        tag("p", f"Next: {why}. ", tag("code", todo["command"])),
        tag("table", tag("thead", head), *bodies),
        id="progress",
        aria_labelledby="progress-title",
    )


def _track(track: int) -> Html:
    return tag("tr", tag("th", f"Track {track}", colspan=6, scope="rowgroup"), class_="track")


def _row(one: Data, today: str) -> Html:
    state, tried = one["state"], bool(one["attempts"])
    shown = badge(state, state in GOOD) if state in (*GOOD, *BAD) else tag("span", state, class_="soft")
    name = tag("a", one["kata"], href=f"#kata-{one['kata']}") if one["linked"] else one["kata"]
    due = "now" if one["due_now"] else one["due"] and written(one["due"], short=True)
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", shown),
        _cell("box", boxes(one["box"]) if one["box"] else None),
        _cell("best / par", f"{one['best'] or '–'} / {one['par']}" if tried else None, f"par {one['par']}"),
        _cell("last", "today" if one["last"] == today else one["last"] and written(one["last"], short=True)),
        _cell("due", due, class_="due" if one["due_now"] else None),
    )


def _cell(label: str, inside: Any, otherwise: str = "–", class_: str | None = None) -> Html:
    """A cell that carries its column's name, which a narrow screen shows; there an empty one is left out."""
    if not inside:
        return tag("td", tag("span", otherwise, class_="soft"), class_="none")
    return tag("td", inside, data_label=label, class_=class_)


def boxes(box: int) -> Html:
    """The box of five that a kata lies in, as dots."""
    dots = [tag("circle", cx=6 + 13 * n, cy=7, r=4.2, class_="full" if n < box else None) for n in range(BOXES)]
    title = tag("title", f"box {box} of {BOXES}")
    return tag("svg", title, *dots, role="img", width=12 + 13 * (BOXES - 1), height=14, class_="box")


def passing(katas: Sequence[Data]) -> int:
    """How many pass."""
    return sum(one["state"] in GOOD for one in katas)
