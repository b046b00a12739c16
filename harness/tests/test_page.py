"""The report as a page: what it holds, what it hides, that it is well formed, and that nothing in it can do harm."""

from __future__ import annotations

import itertools
import json
import re
import stat
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness import outline
from harness.markup import LONGEST_LINE, MOST_LINES, Html, escape, join, tag, written
from harness.page.style import DARK, LIGHT
from harness.tests.play import play
from harness.tests.project import Project

REVERSED = ("np.triu(np.ones((T, T), dtype=bool), k=1)", "np.tril(np.ones((T, T), dtype=bool), k=-1)")
SECRET = "np.triu(blocked, k=1)"  # of the solution to causal_mask
RIGHT = (outline.SOLUTIONS / "causal_mask.py").read_text(encoding="utf-8")
HOSTILE = "</pre></style><script>alert(1)</script><img src=x onerror='alert(2)'> \" & \x00\x1b\u202e🙂 שלום"
VOID = {"meta", "rect", "line", "circle", "path"}


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, the text, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)
        if self._open and re.fullmatch("h[1-6]", self._open[-1]):
            level, words = self.headings[-1]
            self.headings[-1] = level, words + data

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def report(project: Project, *words: str, **env: str) -> Page:
    """The page that `kata report` writes, checked for what holds of every page."""
    path = project.folder / "page.html"
    done = project.run("-m", "harness", "report", "--out", str(path), *words, **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return sound(path.read_text(encoding="utf-8"))


def sound(text: str) -> Page:
    page = Page(text)
    names = [name for name, _ in page.elements]
    assert not {"script", "img", "iframe", "object", "link", "form", "base"} & set(names)
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes and "style" not in attributes
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.all("a") if a["href"]} <= {str(one) for one in ids}
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert all(words.strip() for _, words in page.headings)
    assert page.all("html") == [{"lang": "en"}]
    assert {"header", "nav", "main", "footer"} <= set(names)
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv"))
    assert policy and policy.startswith("default-src 'none'")
    drawn = [a for a in page.all("svg") if "aria-hidden" not in a]
    assert all(a["role"] == "img" for a in drawn)
    return page


def test_escape_leaves_no_markup_and_nothing_invisible() -> None:
    assert escape("<b a=\"1\" c='2'> &") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt; &amp;"
    assert escape("\x00\x1b\x7f\x85\u202e\u2028\ud800\ufffe") == r"\u0000\u001b\u007f\u0085\u202e\u2028\ud800\ufffe"
    assert escape("🙂 שלום é\n\tx") == "🙂 שלום é\n\tx"
    assert escape("a\r\nb") == "a\nb"


def test_what_is_too_long_is_cut_with_a_word() -> None:
    assert escape("x" * 100_000) == "x" * LONGEST_LINE + f" [... {100_000 - LONGEST_LINE:,} more characters]"
    cut = escape("y\n" * 10_000)
    assert cut.endswith(f"\n[... {10_001 - MOST_LINES:,} more lines]")
    assert cut.count("\n") == MOST_LINES


def test_markup_escapes_whatever_is_no_markup() -> None:
    assert tag("p", "<b>", tag("i", 1), None, class_='a"b') == '<p class="a&quot;b">&lt;b&gt;<i>1</i></p>'
    assert tag("rect", x=0, hidden=False, aria_label=None) == '<rect x="0"/>'
    assert join("<", Html("<br>"), by=" ") == "&lt; <br>"
    assert [written("2026-11-03"), written("2026-11-03T10:00Z", short=True), written("<x>")] == [
        *("3 November 2026", "3 Nov", "<x>")
    ]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_words_stand_out_from_what_lies_behind_them(colours: dict[str, str]) -> None:
    def light(name: str) -> float:
        parts = [int(colours[name][n : n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one: str, other: str) -> float:
        low, high = sorted((light(one), light(other)))
        return (high + 0.05) / (low + 0.05)

    behind = ("bg", "card", "wash")
    for words in ("fg", "soft", "accent", "wrong"):
        assert all(contrast(words, one) >= 4.5 for one in behind), words
    assert all(contrast(words, "blush") >= 4.5 for words in ("fg", "soft", "wrong"))
    assert contrast("fg", "tint") >= 4.5
    assert all(contrast("off", f"h{n}") >= 4.5 for n in range(5))
    assert all(contrast("on", f"h{n}") >= 4.5 for n in range(5, 9))
    assert contrast("wrong", "card") >= 3


def test_an_empty_history_makes_a_page_that_says_where_to_begin(project: Project) -> None:
    page = report(project)
    assert "Nothing is written yet" in page.text
    assert "kata watch causal_mask" in page.text
    assert [words for _, words in page.headings] == ["Kata report", "Progress"]


def test_a_mistake_is_named_drawn_and_put_beside_the_solution(project: Project) -> None:
    project.solve("pre_ln_block", REVERSED)
    project.solve("causal_mask")
    page = report(project)
    assert [words for level, words in page.headings if level == 3] == ["pre_ln_block", "causal_mask"]
    assert "reversed_mask: the mask direction is reversed" in page.text
    assert "Query 0 gives key 1 a weight of" in page.text
    assert "this shows the solution; it has not passed yet" in page.text
    assert page.text.count("future = np.tril(np.ones((T, T), dtype=bool), k=-1)") == 2  # alone, and beside
    assert page.text.count("future = np.triu(np.ones((T, T), dtype=bool), k=1)") == 1
    assert all("open" not in details for details in page.all("details"))
    assert "Where you are" not in page.text


def test_while_an_interview_runs_its_kata_is_hidden(project: Project) -> None:
    project.kata("causal_mask", RIGHT.replace(SECRET, "np.tril(blocked, k=-1)"))
    start = {"v": 1, "at": datetime.now(UTC).isoformat(), "event": "mock", "id": 1, "do": "start"}
    (project.folder / ".kata").mkdir()
    (project.folder / ".kata" / "history.jsonl").write_text(json.dumps({**start, "questions": ["causal_mask"]}) + "\n")
    page = report(project)
    assert "nothing of it is shown until it ends" in page.text
    assert SECRET not in page.text
    assert "reversed" not in page.text
    assert "kata mock resume" in page.text


def test_the_last_attempt_is_shown_after_a_reset(project: Project) -> None:
    project.solve("causal_mask")
    project.run("-m", "harness", "reset", "causal_mask")
    page = report(project)
    assert "attempt 1 · 4 of 4 core checks" in page.text


def hostile_evening(project: Project) -> list[Any]:
    """Commands after which everything that a person can write is hostile."""
    code = RIGHT.replace("import numpy", "# " + HOSTILE.replace("\x00", "") + "\nimport numpy")
    wrong = code.replace(SECRET, "np.tril(blocked, k=-1)") + f"\nLONG = '{'x' * 100_000}'\nprint({HOSTILE!r} * 50)\n"
    project.kata("causal_mask", wrong)
    project.kata("stable_softmax", f"def stable_softmax(scores, axis=-1):\n    raise ValueError({HOSTILE!r} * 9)\n")
    project.kata("split_heads", "def split_heads(x, heads):\n\t\x00<script>alert(1)</script>")
    said = HOSTILE.replace("\x00", "")
    steps = [f"{said}?", f"assume {said}", ["write", "causal_mask.py", wrong], ["wait", 90], "submit", "quit"]
    return [("mock causal_mask --seed 1", [*steps, said, "3", said * 500, "1", "", ""])]


def test_hostile_code_names_and_answers_are_only_text(project: Project) -> None:
    play(project, *hostile_evening(project), ("debrief 1 --html one.html", []))
    page = report(project)
    one = sound((project.folder / "one.html").read_text(encoding="utf-8"))
    for shown in (page, one):
        assert "<script>alert(1)</script>" in shown.text
        assert "more characters]" in shown.text
        assert r"\u202e" in shown.text
        assert not set(shown.text) & {"\x00", "\x1b", "\u202e"}
        assert max(map(len, shown.text.splitlines())) < 20_000
    assert "cannot be run" in page.text


def test_the_page_of_one_interview(project: Project) -> None:
    keep = RIGHT.replace(SECRET, "np.tril(blocked)")
    steps = [["write", "causal_mask.py", keep], ["wait", 90], "submit", "quit", "the docs", "2", "", ""]
    *_, done, debrief = play(
        project,
        ("mock causal_mask --seed 1", steps),
        ("debrief --html one.html", []),
        ("debrief 1 --json --html one.html", []),
    )
    assert (done.status, done.err) == (0, "")
    assert "one.html" in done.out
    assert debrief.status == 2
    page = sound((project.folder / "one.html").read_text(encoding="utf-8"))
    assert page.headings[0] == (1, "Interview 1")
    assert "inverted_polarity" in page.text
    assert "the docs" in page.text
    assert "this shows the solution; it has not passed yet" in page.text
    whole = report(project)
    assert (3, "Interview 1") in whole.headings
    assert any("Interview time against par" in words for words in whole.words)


def test_strange_and_damaged_events_leave_the_page_whole(project: Project) -> None:
    base = {"v": 1, "at": datetime.now(UTC).isoformat()}
    mock: dict[str, Any] = {**base, "event": "mock", "id": 1, "clock": [1.0, 1.0, "a"]}
    start = {"do": "start", "kind": "mock", "minutes": 5, "folder": "x", "seed": 1, "pausable": False}
    events = [
        {**mock, **start, "questions": ["no_such_kata"]},
        {**mock, "do": "end", "why": "<b>"},
        {**base, "event": "interviewed", "kata": "causal_mask", "verdict": [], "seconds": "nan", "par": 0},
        {**base, "event": "interviewed", "kata": "<i>", "verdict": "pass", "seconds": 1, "par": 60},
        {**base, "event": "quiz", "question": ["<b>"], "answer": None, "rating": "<b>"},
    ]
    (project.folder / ".kata").mkdir()
    lines = [json.dumps(event) for event in events]
    (project.folder / ".kata" / "history.jsonl").write_text("\n".join([*lines, "{torn"]) + "\n")
    page = report(project)
    assert "<i>" in page.text
    assert "no_such_kata" not in page.text


def test_what_cannot_be_written_is_said_and_nothing_is_left_behind(project: Project) -> None:
    blocked = project.folder / "a file"
    blocked.write_text("mine")
    for words, env in [(["--out", f"{blocked}/page.html"], {}), ([], {"KATA_HOME": f"{blocked}/home"})]:
        done = project.run("-m", "harness", "report", *words, **env)
        assert done.returncode == 2
        assert "nothing was written" in done.stderr
        assert "Traceback" not in done.stderr
    done = project.run("-m", "harness", "report", "--out", str(project.folder))
    assert (done.returncode, "is a folder" in done.stderr) == (2, True)
    assert blocked.read_text() == "mine"
    assert not list(project.folder.glob("*.html*"))


def test_the_report_opens_in_the_browser_where_it_was_written(project: Project) -> None:
    browser, seen = project.folder / "browser", project.folder / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    done = project.run("-m", "harness", "report", "--open", BROWSER=f"{browser} %s")
    path = project.folder / ".kata" / "report.html"
    assert done.stdout == "The report: .kata/report.html\n"
    assert seen.read_text().strip() == path.as_uri()
    sound(path.read_text(encoding="utf-8"))
