"""HTML as text: whatever is not markup already is escaped, in one place."""

from __future__ import annotations

import re
import unicodedata
from datetime import date

LONGEST_LINE = 400
MOST_LINES = 500
VOID = {"meta", "rect", "line", "circle", "path"}
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Html(str):
    """Text that is markup already."""


def escape(words: object) -> Html:
    """Anything that a person wrote, as text of a page: nothing in it is markup, and nothing in it is invisible.

    Control characters, lone surrogates and the marks that turn the direction of writing are spelt out; what is too long
    to read is cut, with a word about it.
    """
    lines = str(words).replace("\r\n", "\n").split("\n")
    cut = [*map(_line, lines[:MOST_LINES])]
    if len(lines) > MOST_LINES:
        cut.append(f"[... {len(lines) - MOST_LINES:,} more lines]")
    safe = "\n".join(cut).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Html(safe.replace('"', "&quot;").replace("'", "&#39;"))


def _line(line: str) -> str:
    kept = line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE]
    more = f" [... {len(line) - LONGEST_LINE:,} more characters]" if len(line) > LONGEST_LINE else ""
    return "".join(_visible(c) for c in kept) + more


def _visible(c: str) -> str:
    if " " <= c <= "~" or c == "\t":
        return c
    hidden = unicodedata.category(c) in ("Cc", "Cs", "Cn") or ord(c) in (0x2028, 0x2029) or BIDI.match(c)
    return f"\\u{ord(c):04x}" if hidden else c


def tag(element: str, /, *children: object, **attributes: object) -> Html:
    """An element. A child or an attribute's value is escaped unless it is Html; None and False are left out.

    `class_` is class, and `aria_label` is aria-label.
    """
    words = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if element in VOID:
        return Html(f"<{element}{words}>" if element == "meta" else f"<{element}{words}/>")
    return Html(f"<{element}{words}>{join(*children)}</{element}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def join(*children: object, by: str = "") -> Html:
    """Markup one after the other; text among it is escaped."""
    return Html(by.join(c if isinstance(c, Html) else escape(c) for c in children if c is not None))


def written(day: str, short: bool = False) -> str:
    """A day as one writes it: 30 November 2026, or 30 Nov; what is no day is left as it is."""
    try:
        found = date.fromisoformat(day[:10])
    except ValueError:
        return day
    return f"{found.day} {found:%b}" if short else f"{found.day} {found:%B %Y}"
