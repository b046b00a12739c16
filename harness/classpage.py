"""A graded class as one HTML file, in the style of `kata report`: a table to sort, and which mistakes were made.

It reads the JSON document of `report` alone. Without script the table stands in the order of the files.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from harness import tally
from harness.markup import Html, join, tag
from harness.page.style import css
from harness.tally import Result

RANK = {"strong": 0, "pass": 1, "fail": 2, "broken": 3}
RULES = """
th button{all:unset;cursor:pointer;border-radius:3px}
th button:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
th button::after{content:" \\2195";opacity:.5}
th[aria-sort=ascending] button::after{content:" \\2191";opacity:1}
th[aria-sort=descending] button::after{content:" \\2193";opacity:1}
td.number,th.number{text-align:right}
td .soft{font-size:.9rem}
"""
SCRIPT = """
"use strict";
const body = document.querySelector("#class tbody");
for (const head of document.querySelectorAll("#class thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
    const key = (row) => row.children[head.cellIndex].dataset.key;
    const order = (a, b) => turn * key(a).localeCompare(key(b), "en", { numeric: true });
    body.append(...[...body.rows].sort(order));
  });
}
"""


def page(document: dict[str, Any]) -> bytes:
    """The page of a graded class."""
    results = document["results"]
    sections = [_class(results), _mistakes(results), _skipped(document["skipped"])]
    script = tag("script", Html(SCRIPT))
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", "Graded class"),
        tag("style", Html(css() + RULES)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the table", href="#main", class_="skip"),
        tag(
            "header",
            tag("p", f"kata-kit · seed {document['seed']}", class_="kicker"),
            tag("h1", "Graded class"),
            tag("p", tally.summary(results), class_="lead"),
        ),
        tag("main", *(section for section in sections if section), id="main", tabindex=-1),
        tag("footer", "Made by kata-kit on this machine. This file loads nothing and sends nothing."),
        script,
    )
    return join(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n").encode()


def _class(results: list[Result]) -> Html:
    numbers = ("core", "follow-ups", "seconds")
    columns = ("submission", "kata", "verdict", *numbers, "what is wrong")
    heads = [tag("th", name, scope="col", class_="number" if name in numbers else None) for name in columns]
    rows = tag("tbody", *map(_row, results))
    table = tag("table", tag("thead", tag("tr", *heads)), rows, id="class", aria_labelledby="class-title")
    return tag("section", tag("h2", "Submissions", id="class-title"), table)


def _row(result: Result) -> Html:
    verdict, core, more = result["verdict"], tally.core(result), tally.core(result, "follow-up")
    badge = tag("span", verdict, class_=f"badge {'good' if verdict in tally.GOOD else 'bad'}")
    who = tag("th", tally.name(result), scope="row", title=result["file"], data_key=tally.name(result))
    wrong = tally.why(result)
    return tag(
        "tr",
        who,
        _cell("kata", result["kata"] or "–", result["kata"]),
        _cell("verdict", badge, RANK[verdict]),
        _cell("core", _of(core), core[0], "number"),
        _cell("follow-ups", _of(more), more[0], "number"),
        _cell("seconds", f"{result['seconds']:.2f}", f"{result['seconds']:.4f}", "number"),
        _cell("wrong", tag("span", wrong, title=result["says"] or None), wrong, None if wrong else "none"),
    )


def _of(counts: tuple[int, int]) -> str:
    return f"{counts[0]} of {counts[1]}" if counts[1] else "–"


def _cell(label: str, inside: object, key: object, class_: str | None = None) -> Html:
    return tag("td", inside, data_label=label, data_key=key, class_=class_)


def _mistakes(results: list[Result]) -> Html | None:
    """The mistakes by frequency: eight of thirty reversed the mask."""
    items = []
    for kata, mistake, count, of, says in tally.counted(results):
        lead = f"{tally.spelt(count).capitalize()} of {tally.spelt(of)}"
        items.append(tag("p", tag("b", f"{lead}: {mistake}"), tag("span", f" ({kata}) ", class_="soft"), says))
    if not items:
        return None
    heading = tag("h2", "Mistakes, by how many made them", id="mistakes-title")
    return tag("section", heading, tag("article", *items), aria_labelledby="mistakes-title")


def _skipped(skipped: list[dict[str, str]]) -> Html | None:
    if not skipped:
        return None
    items = [tag("li", tag("code", one["file"]), f": {one['why']}") for one in skipped]
    heading = tag("h2", "Passed over", id="skipped-title")
    return tag("section", heading, tag("ul", *items, class_="plain"), aria_labelledby="skipped-title")
