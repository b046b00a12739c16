"""Many submissions in several processes: the same results as in one, and nothing is left over."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from harness import batch, registry
from harness.collect import Entry
from harness.grade import grade
from harness.judge import Judge

REVERSED = "import numpy as np\n\ndef causal_mask(length):\n    return np.tril(np.ones((length, length), bool), -1)\n"
ENDLESS = "while True:\n    pass\n"


@pytest.fixture
def entries(tmp_path: Path) -> list[Entry]:
    texts = {"a": registry.solution("causal_mask").source, "b": REVERSED, "c": "oops(", "d": "x = 1\n"}
    made = []
    for number in range(8):
        name, text = list(texts.items())[number % 4]
        path = tmp_path / f"{name}{number}_causal_mask.py"
        path.write_text(text)
        made.append(Entry(str(path), "causal_mask", name))
    return [*made, Entry("gone.py", "", "", "no such file")]


def children() -> set[str]:
    """The live processes that descend from this one."""
    found: set[str] = set()
    table = subprocess.run(["ps", "-eo", "pid=,ppid=,stat=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in table.splitlines()]
    parents = {str(os.getpid())}
    while parents:
        parents = {
            pid for pid, parent, stat, name, *_ in rows if parent in parents and stat[0] != "Z" and name != "ps"
        } - found
        found |= parents
    return found


def stripped(graded: Iterator[batch.Graded]) -> list[tuple[object, ...]]:
    """What does not depend on the machine."""
    rows = sorted(graded)
    return [(r.number, r.result["file"], r.result["verdict"], r.result["checks"], r.result["mistakes"]) for r in rows]


def test_jobs_give_what_one_process_gives(entries: list[Entry]) -> None:
    alone = stripped(batch.run(entries, 3, None, 1))
    assert stripped(batch.run(entries, 3, None, 2)) == alone
    assert [row[2] for row in alone] == ["strong", "fail", "broken", "broken"] * 2 + ["broken"]


def test_a_submission_meets_other_inputs_with_another_seed_and_the_same_with_the_same(tmp_path: Path) -> None:
    path = tmp_path / "stable_softmax.py"
    path.write_text("def stable_softmax(scores, axis=-1):\n    raise RuntimeError(scores.sum())\n")
    entry = [Entry(str(path), "stable_softmax", "")]
    first, again, other = (stripped(batch.run(entry, seed, None, 1)) for seed in (1, 1, 2))
    assert first == again != other


def test_stopping_early_leaves_no_process(entries: list[Entry], tmp_path: Path) -> None:
    path = tmp_path / "endless_causal_mask.py"
    path.write_text(ENDLESS)
    before = children()
    running = batch.run([*entries, *[Entry(str(path), "causal_mask", "")] * 4], 0, None, 2)
    next(running)
    assert children() > before
    running.close()  # type: ignore[attr-defined]  # it is a generator
    assert children() <= before


def test_a_job_that_dies_costs_the_submission_that_it_had(
    entries: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = batch._Job.grade

    def dying(job: batch._Job, ahead: Sequence[tuple[int, Entry]]) -> batch.Graded:
        if ahead[0][0] == 1:
            os.kill(job._process.pid, signal.SIGKILL)
        return sent(job, ahead)

    monkeypatch.setattr(batch._Job, "grade", dying)
    graded = sorted(batch.run(entries, 0, None, 2))
    assert [one.number for one in graded if one.fault] == [1]
    assert "the process that graded it ended" in graded[1].result["says"]
    assert [one.result["verdict"] for one in graded[2:]] == [
        "broken",
        "broken",
        "strong",
        "fail",
        "broken",
        "broken",
        "broken",
    ]


def test_a_limit_ends_what_runs_too_long(tmp_path: Path) -> None:
    path = tmp_path / "causal_mask.py"
    path.write_text(
        "def causal_mask(length):\n" + ENDLESS.replace("while", "    while").replace("    pass", "        pass")
    )
    [one] = batch.run([Entry(str(path), "causal_mask", "")], 0, 1.0, 1)
    assert one.result["verdict"] == "fail"
    assert "time limit of 0.25 s" in one.result["says"]
    assert {check["outcome"] for check in one.result["checks"]} == {"failed"}


def test_memory_does_not_grow_with_the_number(entries: list[Entry]) -> None:
    with Judge() as judge:
        kept = []
        for _ in range(3):
            for entry in entries[:-1]:
                grade(judge, entry.kata, Path(entry.file), 0)
            kept.append((len(judge.calls._calls), sum(len(c.given) for c in judge.calls._calls.values())))
    assert kept[1] == kept[2]
