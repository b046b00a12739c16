"""The published rule, as a table: what was done, and the box and the day that follow."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import schedule
from harness.tests.project import Project

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
PASS, FAIL = {"event": "check", "verdict": "pass"}, {"event": "check", "verdict": "fail", "mistakes": ["no_mask"]}
HINT, RESET = {"event": "hint"}, {"event": "reset"}
ASKED, SHOWN = {"event": "solution", "shown": False}, {"event": "solution", "shown": True}
RESTORED = {"event": "restore", "verdict": "pass"}
FAST = {"event": "interviewed", "verdict": "strong", "seconds": 200, "par": 300, "hints": 0}
SLOW, HELPED = {**FAST, "seconds": 400}, {**FAST, "hints": 1}
LOST = {**FAST, "verdict": "fail"}
MENDED = {**LOST, "kind": "debug"}
FIFTH = [(0, PASS), (1, RESET), (1, PASS), (3, RESET), (3, PASS), (7, RESET), (7, PASS), (14, RESET), (14, PASS)]


def events(*done: tuple[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Events by the day on which they were."""
    return [{"v": 1, "at": (START + timedelta(day)).isoformat(), "kata": "a", **facts} for day, facts in done]


def day(number: int) -> date:
    return (START + timedelta(number)).astimezone().date()


@pytest.mark.parametrize(
    ("done", "box", "due"),
    [
        ([], 0, None),
        ([(0, FAIL)], 0, None),
        ([(0, PASS)], 1, 1),
        ([(0, FAIL), (0, PASS)], 1, 1),
        ([(0, HINT), (0, PASS)], 1, 1),
        ([(0, PASS), (1, RESET), (1, PASS)], 2, 3),
        ([(0, PASS), (0, RESET), (0, PASS)], 1, 1),  # not due yet
        ([(0, PASS), (5, PASS)], 1, 1),  # the same attempt
        ([(0, PASS), (1, RESET), (1, HINT), (1, PASS)], 1, 2),
        ([(0, PASS), (1, RESET), (1, ASKED), (1, PASS)], 2, 3),
        ([(0, PASS), (1, RESET), (1, PASS), (3, RESET), (3, SHOWN), (3, PASS)], 1, 4),
        ([(0, PASS), (0, SHOWN), (1, RESET), (1, PASS)], 2, 3),  # looked at after the pass
        ([(0, PASS), (1, RESET), (1, RESTORED), (1, PASS)], 1, 1),  # an old pass brought back
        (FIFTH, 5, 28),
        ([*FIFTH, (28, RESET), (28, PASS)], 5, 42),
        ([*FIFTH, (15, LOST)], 1, 16),
        ([(0, FAST)], 1, 1),
        ([(0, LOST)], 1, 1),
        ([(0, PASS), (1, FAST)], 2, 3),
        ([(0, PASS), (1, SLOW)], 1, 2),
        ([(0, PASS), (1, HELPED)], 1, 2),
        ([(0, PASS), (1, MENDED)], 1, 1),
    ],
)
def test_the_box_and_the_day(done: list[tuple[int, dict[str, Any]]], box: int, due: int | None) -> None:
    standing = schedule.standings(events(*done), ["a"])["a"]
    assert standing.box == box
    assert standing.due == (None if due is None else day(due))


def test_attempts_and_the_best_mock_are_counted() -> None:
    done: list[tuple[int, dict[str, Any]]]
    done = [(0, FAIL), (0, FAIL), (0, RESET), (0, PASS), (0, RESET), (1, SLOW), (2, FAST), (2, SLOW), (3, LOST)]
    standing = schedule.standings(events(*done), ["a"])["a"]
    assert standing.attempts == 6
    assert standing.best == 200
    assert standing.last == day(3)


def test_the_rule_says_the_days() -> None:
    assert ", ".join(map(str, schedule.DAYS[:-1])) in schedule.RULE
    assert max(map(len, schedule.RULE.splitlines())) <= 80


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def past(project: Project, *done: tuple[int, str, dict[str, Any]]) -> None:
    """Write a history: so many days ago, this kata, that."""
    now = datetime.now(UTC)
    lines = [{"v": 1, "at": (now - timedelta(ago)).isoformat(), "kata": kata, **facts} for ago, kata, facts in done]
    (project.folder / ".kata").mkdir(exist_ok=True)
    (project.folder / ".kata" / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def advice(project: Project) -> tuple[str, str, str]:
    done = project.run("-m", "harness", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["next"]
    return found["kata"], found["why"], found["command"]


def test_first_what_fails_then_what_is_due_then_what_is_new(project: Project) -> None:
    assert advice(project) == ("causal_mask", "new", "kata watch causal_mask")
    past(project, (30, "split_heads", PASS), (9, "tied_logits", PASS))
    assert advice(project) == ("split_heads", "due", "kata watch split_heads")
    project.kata("cross_attention", "def cross_attention(:\n")
    assert advice(project) == ("cross_attention", "failing", "kata watch cross_attention")


def test_a_due_kata_that_holds_its_old_pass_is_to_be_reset(project: Project) -> None:
    source = project.solve("causal_mask").read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    past(project, (0, "causal_mask", {**PASS, "digest": digest}))
    assert advice(project) == ("stable_softmax", "new", "kata watch stable_softmax")
    past(project, (3, "causal_mask", {**PASS, "digest": digest}))
    assert advice(project) == ("causal_mask", "due", "kata reset causal_mask")
    shown = project.run("-m", "harness").stdout
    assert "causal_mask is due again" in shown
    assert "3 days ago" in shown
    project.run("-m", "harness", "reset", "causal_mask")
    assert advice(project) == ("causal_mask", "due", "kata watch causal_mask")
    project.solve("causal_mask")
    shown = project.run("-m", "harness").stdout
    assert "in 2 days" in shown


def test_a_stub_put_back_by_hand_begins_an_attempt(project: Project) -> None:
    stub = (project.folder / "katas" / "causal_mask.py").read_text()
    past(project, (3, "causal_mask", PASS))
    project.run("-m", "harness")
    project.solve("causal_mask")
    project.kata("causal_mask", stub)
    project.run("-m", "harness")
    project.solve("causal_mask")
    [row] = [k for k in json.loads(project.run("-m", "harness", "--json").stdout)["katas"] if k["box"]]
    assert (row["kata"], row["state"], row["attempts"], row["box"]) == ("causal_mask", "strong", 2, 2)


def test_all_done_for_today(project: Project) -> None:
    for path in (project.folder / "katas").glob("*.py"):
        project.solve(path.stem)
    assert advice(project) == ("", "", "kata quiz")
