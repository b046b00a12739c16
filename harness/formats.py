"""A graded class for other programs: JUnit, Gradescope, CSV. Each reads the JSON document of `report` alone."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

from harness import outline, tally
from harness.tally import Result

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLUMNS = (
    "file",
    "submitter",
    "kata",
    "verdict",
    "core_passed",
    "core",
    "follow_ups_passed",
    "follow_ups",
    "mistakes",
    "seconds",
    "peak_bytes",
    "says",
)


def junit(document: dict[str, Any]) -> bytes:
    """JUnit XML: a suite for each submission, a case for each check. An open follow-up is skipped, never a failure."""
    root = ElementTree.Element("testsuites", name="kata grade")
    for result in document["results"]:
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(result["file"]), time=f"{result['seconds']:.4f}")
        for check in result["checks"] or [_unread(result)]:
            words = {"classname": _xml(f"{result['kata']}.{tally.name(result)}"), "name": check["name"]}
            case = ElementTree.SubElement(suite, "testcase", words)
            kind = _junit(check)
            if kind:
                said = ElementTree.SubElement(case, kind, message=_xml(check["says"]), type=check["outcome"])
                said.text = _xml(_output(result, check))
        tags = [each.tag for case in suite for each in case]
        counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        suite.attrib |= {"tests": str(len(suite))} | {name: str(tags.count(tag)) for name, tag in counts.items()}
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return written


def _junit(check: dict[str, Any]) -> str:
    if check["outcome"] == "passed":
        return ""
    if check["outcome"] == "error":
        return "error"
    return "failure" if check["level"] == "core" else "skipped"


def _xml(text: Any) -> str:
    return NOT_XML.sub("?", str(text))


def _unread(result: Result) -> dict[str, Any]:
    """What stands for the checks of a submission that could not be run."""
    return {"name": "can_be_run", "title": "the file can be run", "level": "core", "outcome": "error"} | {
        "says": result["says"],
        "shows": [],
    }


def _output(result: Result, check: dict[str, Any]) -> str:
    """Why a check failed, for the person: the sentence, what was shown, and the mistakes by name."""
    named = [f"{m['name']}: {m['says']}. Look at: {m['look']}" for m in result["mistakes"]]
    if check["outcome"] == "passed":
        return str(check["title"])
    return "\n\n".join([check["title"], check["says"], *check["shows"], *(named if check["level"] == "core" else [])])


def gradescope(document: dict[str, Any]) -> bytes:
    """The results.json of Gradescope: one point for each core check; follow-ups are shown and give none."""
    results = document["results"]
    tests = [test for result in results for test in _tests(result, len(results) > 1)]
    whole = {
        "score": sum(test["score"] for test in tests),
        "execution_time": round(sum(result["seconds"] for result in results), 2),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "output": tally.summary(results),
        "tests": tests,
    }
    return json.dumps(whole, indent=2).encode()


def _tests(result: Result, many: bool) -> list[dict[str, Any]]:
    checks = result["checks"]
    if not checks:  # the points are the same, whatever became of the file
        names = outline.outline(result["kata"]).checks if result["kata"] else [None]
        checks = [_unread(result) | (c._asdict() if c else {}) for c in names]
    return [
        {
            "name": (f"{result['file']}: " if many else "") + check["title"],
            "score": int(check["level"] == "core" and check["outcome"] == "passed"),
            "max_score": int(check["level"] == "core"),
            "status": "passed" if check["outcome"] == "passed" else "failed",
            "output": _output(result, check),
            "visibility": "visible",
        }
        for check in checks
    ]


def table(document: dict[str, Any]) -> bytes:
    """CSV, a row for each submission. No cell is taken for a formula by a spreadsheet."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(COLUMNS)
    for r in document["results"]:
        counts = (*tally.core(r), *tally.core(r, "follow-up"))
        cells = (r["file"], r["submitter"], r["kata"], r["verdict"], *counts)
        end = ("; ".join(tally.mistakes(r)), r["seconds"], r["peak_bytes"], r["says"])
        rows.writerow([_cell(cell) for cell in (*cells, *end)])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
