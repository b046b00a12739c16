"""The files that other programs read, and the page of a class: each from one document."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from harness import classpage, formats, outline, tally

NASTY = "=cmd|'\x00\x1b[31m<script>alert(1)</script> \ud800 \U0001f600"


def check(name: str, level: str, outcome: str, says: str = "") -> dict[str, Any]:
    return {"name": name, "title": f"{name} holds", "level": level, "outcome": outcome, "says": says, "shows": []}


def result(submitter: str, verdict: str, *checks: dict[str, Any], mistake: str = "", says: str = "") -> dict[str, Any]:
    named = [{"name": mistake, "kind": "fault", "says": f"it is {mistake}", "look": "here"}] if mistake else []
    return {
        "file": f"class/{submitter}/causal_mask.py",
        "kata": "causal_mask",
        "submitter": submitter,
        "verdict": verdict,
        "says": says,
        "mistakes": named,
        "checks": list(checks),
        "seconds": 0.25,
        "peak_bytes": 1 << 20,
    }


@pytest.fixture
def document() -> dict[str, Any]:
    core, more = check("itself", "core", "passed"), check("refuses", "follow-up", "failed", "it gives a value")
    wrong = check("itself", "core", "failed", NASTY)
    fault = check("itself", "core", "error", "the kit")
    results = [
        result("ann", "pass", core, more),
        result("ben", "fail", wrong, more, mistake="reversed_mask"),
        result("cid", "fail", wrong, more, mistake="reversed_mask"),
        result("dee", "broken", says=NASTY),
        result("eve", "fail", fault, more),
    ]
    return {"version": 1, "seed": 5, "results": results, "skipped": [{"file": "class/<b>.txt", "why": "no Python"}]}


def test_junit_counts_and_escapes(document: dict[str, Any]) -> None:
    root = ElementTree.fromstring(formats.junit(document))
    counts = [tuple(int(suite.attrib[k]) for k in ("tests", "failures", "errors", "skipped")) for suite in root]
    assert counts == [(2, 0, 0, 1), (2, 1, 0, 1), (2, 1, 0, 1), (1, 0, 1, 0), (2, 0, 1, 1)]
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert "<script>" in failure.attrib["message"]
    assert "reversed_mask" in (failure.text or "")


def test_gradescope_gives_a_point_for_each_core_check_whatever_became_of_the_file(document: dict[str, Any]) -> None:
    whole = json.loads(formats.gradescope(document))
    assert whole["score"] == 1
    for test in whole["tests"]:
        assert {"name", "score", "max_score", "output", "visibility"} <= set(test)
        assert 0 <= test["score"] <= test["max_score"] <= 1
    core = sum(c.level == "core" for c in outline.outline("causal_mask").checks)
    broken = [t for t in whole["tests"] if "class/dee" in t["name"]]
    assert sum(t["max_score"] for t in broken) == core
    assert all(t["score"] == 0 for t in broken)
    assert [t for t in whole["tests"] if t["max_score"] == 0 and t["status"] == "failed"]


def test_csv_has_a_row_each_and_no_formula(document: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(formats.table(document).decode())))
    assert [row["submitter"] for row in rows] == ["ann", "ben", "cid", "dee", "eve"]
    assert rows[0]["core_passed"] == rows[0]["core"] == "1"
    assert rows[1]["mistakes"] == "reversed_mask"
    assert rows[3]["says"].startswith("'=cmd")


def test_the_table_says_who_and_why_and_counts(document: dict[str, Any]) -> None:
    lines = tally.table(document["results"], 78).splitlines()
    assert all(len(line) <= 78 and line.isprintable() for line in lines)
    assert "5 submissions: 1 pass, 3 fail, 1 broken" in lines
    assert "  2 of 5  causal_mask: reversed_mask" in lines
    assert lines[lines.index(next(line for line in lines if line.startswith("ben"))) + 1] == "    reversed_mask"


class Page(HTMLParser):
    """The elements and the words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_stands_alone_and_its_only_script_is_its_own(document: dict[str, Any]) -> None:
    text = classpage.page(document).decode()
    page = Page(text)
    [script] = re.findall("<script>(.*?)</script>", text, re.S)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    [policy] = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert not [attrs for _, attrs in page.tags if "src" in attrs or (attrs.get("href") or "#")[0] != "#"]
    assert "Two of five: reversed_mask" in page.words
    assert "class/<b>.txt" in page.words


def test_every_row_of_the_page_can_be_sorted_by_every_column(document: dict[str, Any]) -> None:
    page = Page(classpage.page(document).decode())
    heads = [attrs for tag, attrs in page.tags if tag == "th" and attrs.get("scope") == "col"]
    keys = [attrs for tag, attrs in page.tags if "data-key" in attrs]
    assert len(keys) == len(heads) * len(document["results"])
