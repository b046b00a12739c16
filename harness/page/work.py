"""One attempt on the page: the verdict, the named mistake, the heat maps, and the code beside the solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.markup import Html, join, tag
from harness.pictures import RIGHT, Picture
from harness.svg import heat_map, sample, scale

VERDICTS = {"strong": "strong", "pass": "passes", "fail": "fails", "broken": "cannot be run"}
Data = Mapping[str, Any]


def badge(verdict: str, good: bool) -> Html:
    """A verdict as a small label; its word says it, the colour only repeats it."""
    return tag("span", verdict, class_=f"badge {'good' if good else 'bad'}")


def attempt(one: Data) -> Html:
    """The article of one kata."""
    name = one["kata"]
    if one["source"] is None:
        words = "An interview on this kata is running: nothing of it is shown until it ends."
        return _article(name, tag("span", "hidden", class_="badge"), "", tag("p", words, class_="soft"))
    good = one["verdict"] in ("pass", "strong")
    core = one.get("core") or [0, 0]
    counted = f" · {core[0]} of {core[1]} core checks" if core[1] else ""
    head = badge(VERDICTS.get(one["verdict"], str(one["verdict"])), good)
    return _article(
        name,
        head,
        f"{one['file']}{counted}",
        *_said(one),
        _figures(name, one.get("pictures", ()), good),
        *_later(one),
        *_code(one, good),
    )


def _article(name: str, verdict: Html, right: str, *parts: Html | None) -> Html:
    top = tag("div", tag("h3", name), verdict, tag("span", right, class_="soft") if right else None, class_="top")
    return tag("article", top, *parts, id=f"kata-{name}")


def _said(one: Data) -> list[Html]:
    """What is wrong, the mistake by name first."""
    parts = [mistake(named) for named in one.get("mistakes", ())]
    failed = one.get("failed")
    if failed:
        parts.append(tag("p", f"Does not hold yet: {failed['title']}."))
        shows = scrolled("\n\n".join(failed["shows"]), "details") if failed["shows"] else None
        if shows and any(p["first"] for p in one.get("pictures", ())):  # which say the same, and better
            shows = _fold("As text", "", shows)
        parts.append(tag("div", tag("p", failed["says"], class_="mono"), shows, class_="said"))
    elif one["verdict"] == "broken":
        parts.append(tag("div", tag("p", one["says"], class_="mono"), class_="said"))
    if one.get("remark"):
        parts.append(tag("p", f"{one['remark'][:1].upper()}{one['remark'][1:]}."))
    if one.get("prints"):
        parts.append(_fold("What it printed", "", scrolled(one["prints"], "what it printed")))
    return parts


def _later(one: Data) -> list[Html]:
    """What else does not hold, folded away."""
    also, later = one.get("also", ()), one.get("open", ())
    folded = [_fold("What else fails", f"{len(also)} more", tag("ul", *(tag("li", t) for t in also), class_="plain"))]
    opened = tag("ul", *(tag("li", title) for title in later), class_="plain")
    return (folded if also else []) + ([_fold("Follow-ups still open", str(len(later)), opened)] if later else [])


def mistake(named: Data) -> Html:
    """A recognised mistake: its name, why it is wrong, where to look."""
    lead = "right under another contract, wrong under this one: " if named["kind"] == "convention" else ""
    look = tag("p", f"Look at: {named['look']}", class_="soft") if named.get("look") else None
    return tag("div", tag("p", tag("b", named["name"]), f": {lead}{named['says']}."), look, class_="mistake")


def listed(title: str, items: Sequence[str]) -> list[Html]:
    """A short list under its words; nothing for none."""
    if not items:
        return []
    return [tag("p", title, class_="soft"), tag("ul", *(tag("li", item) for item in items), class_="plain")]


def scrolled(text: str, label: str) -> Html:
    """Text as it was set, which scrolls sideways, also by the keyboard."""
    return tag("pre", text, tabindex=0, role="region", aria_label=label)


def _fold(title: str, note: str, *inside: Html) -> Html:
    small = tag("small", note) if note else None
    return tag("details", tag("summary", title, " " if note else None, small), *inside)


def _figures(name: str, pictures: Sequence[Picture], good: bool) -> Html | None:
    """What departs from what it should be stays open; what is right is folded away."""
    wrong = [p for p in pictures if p["first"] or (p["yours"] is None and not good)]
    right = [p for p in pictures if p not in wrong]
    parts = [_group(name, wrong, 0)] if wrong else []
    if right:
        note = "as they should be" if all(p["says"] == RIGHT for p in right) else ""
        parts.append(_fold("Pictures", note, _group(name, right, len(wrong))))
    return join(*parts)


def _group(name: str, pictures: Sequence[Picture], start: int) -> Html:
    figures = [_figure(p, f"{name}-{n}") for n, p in enumerate(pictures, start)]
    return join(tag("div", *figures, class_="figures"), _key(pictures))


def _figure(shown: Picture, name: str) -> Html:
    title, says = (f"{words[:1].upper()}{words[1:]}" for words in (shown["title"], f"{shown['says']}."))
    maps = []
    if shown["yours"] is not None:
        maps.append(tag("div", tag("p", "yours"), heat_map(shown, True, f"{name}-yours")))
    if shown["yours"] is None or shown["first"]:
        maps.append(tag("div", tag("p", "should be"), heat_map(shown, False, f"{name}-right")))
    axes = tag("p", f"{shown['down']} down, {shown['across']} across", class_="soft")
    return tag("figure", tag("figcaption", title), tag("p", says), tag("div", *maps, class_="pair"), axes)


def _key(pictures: Sequence[Picture]) -> Html:
    """What the marks mean, of those that there are."""
    kinds = {p["kind"] for p in pictures}
    marks: list[tuple[Html, str]] = []
    if "weights" in kinds:
        marks.append((scale(), "weight, 0 to 1"))
    if "mask" in kinds:
        marks += [(sample("on"), "sees"), (sample("off"), "blocked")]
    if "influence" in kinds:
        marks += [(sample("on"), "depends"), (sample("off"), "does not")]
    if any(p["first"] for p in pictures):
        marks += [(sample("first"), "the wrong cell that is named"), (sample("wrong"), "wrong too")]
    return tag("ul", *(tag("li", drawn, words) for drawn, words in marks), class_="key")


def _code(one: Data, good: bool) -> list[Html]:
    """The code beside the solution. Before a pass that is closed, and says what opening it shows."""
    alone = _fold("Your code", "", _lines(one["source"]))
    compared = one.get("compared")
    if not compared:
        return [alone] if one["source"] else []
    note = "" if good or one.get("shown") else "this shows the solution; it has not passed yet"
    title = "Your code beside the solution"
    return [*([] if good else [alone]), _fold(title, note, *_parts(compared))]


def _lines(source: str) -> Html:
    return tag("pre", source, tabindex=0, role="region", aria_label="your code", class_="alone")


def _parts(compared: Sequence[Data]) -> list[Html]:
    """The functions that differ, and the names of the others."""
    same = [part["name"] or "the imports" for part in compared if part["same"]]
    words = [tag("p", f"The same in both: {', '.join(same)}.", class_="soft")] if same else []
    return [*(_part(part) for part in compared if not part["same"]), *words]


def _part(part: Data) -> Html:
    """A function of both, line by line; on a narrow screen the one below the other."""
    name = part["name"] or "outside of functions"
    return tag(
        "div",
        _side(part["rows"], 1, f"{name}, yours", "mine"),
        _side(part["rows"], 2, f"{name}, the solution", "other"),
        class_="code",
    )


def _side(rows: Sequence[Sequence[Any]], side: int, title: str, kind: str) -> Html:
    lines = [_line(row[0], row[side], kind) for row in rows]
    region = tag("pre", *lines, tabindex=0, role="region", aria_label=title)
    return tag("div", tag("p", title, class_="whose"), region)


def _line(mark: str, line: str | None, kind: str) -> Html:
    """A line with its mark: + what only this side has, ~ what differs."""
    if line is None:
        return tag("span", class_="fill mark")
    sign = {" ": " ", "|": "~"}.get(mark, "+")
    return tag("span", f"{sign} {line}", class_=None if mark == " " else kind)
