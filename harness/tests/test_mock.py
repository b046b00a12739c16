"""A timed interview as a person meets it: the `kata` command, a scripted person, a clock that the script moves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import outline
from harness.tests.play import debrief, play
from harness.tests.project import Project

RIGHT = (outline.SOLUTIONS / "causal_mask.py").read_text(encoding="utf-8")
KEEP = RIGHT.replace("np.triu(blocked, k=1)", "np.tril(blocked)")
REVERSED = RIGHT.replace("np.triu(blocked, k=1)", "np.tril(blocked, k=-1)")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def test_a_whole_interview(project: Project) -> None:
    steps = [
        ["wait", 30],
        "What does True mean in the mask?",
        "assume a position sees itself",
        ["write", "causal_mask.py", KEEP],
        ["wait", 30],
        "run",
        "submit",
        ["write", "causal_mask.py", RIGHT],
        ["wait", 60],
        "run",
        "submit",
        "because row i predicts token i + 1",
        "3",
        "I do not know",
        "1",
        "",
        "",
    ]
    started, told, data = play(project, ("mock causal_mask --seed 1", steps), ("debrief", []), ("debrief 1 --json", []))
    assert started.status == 0
    assert started.err == ""
    assert "You have 5 minutes" in started.out
    assert "Blocked: the entry is True" in started.out
    assert "0 of 1 visible examples as expected" in started.out
    assert "is not right yet" in started.out
    assert "inverted_polarity" not in started.out.split("all 4 core checks pass")[0]
    assert "causal_mask: STRONG in 2:00, par 5:00" in started.out
    assert "first run 1:00 · green at 2:00 · 2 runs" in started.out
    assert "asked: " in told.out
    assert "you: because row i predicts token i + 1" in told.out
    whole = json.loads(data.out)
    [question] = whole["questions"]
    assert (question["verdict"], question["runs"], question["asks"], question["submissions"]) == ("strong", 2, 1, 2)
    assert [answer["rating"] for answer in whole["answers"]] == [3, 1, None]
    assert all(answer["model"] for answer in whole["answers"])


def test_the_file_holds_the_short_prompt_and_no_contract(project: Project) -> None:
    play(project, ("mock pre_ln_block", []))
    [path] = (project.folder / "mock").glob("*/*.py")
    text = path.read_text(encoding="utf-8")
    assert "Contract" not in text
    assert "minutes" not in text
    assert ">>>" not in text
    assert "def pre_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:" in text
    compile(text, "stub", "exec")


def test_a_convention_nobody_asked_about_is_no_bug(project: Project) -> None:
    steps = [["write", "causal_mask.py", KEEP], ["wait", 400], "run"]
    [question] = debrief(project, ("mock causal_mask", steps))["questions"]
    assert [(m["name"], m["counts_as"]) for m in question["mistakes"]] == [
        ("inverted_polarity", "a question not asked")
    ]
    steps = ["what does True mean in the mask?", ["write", "causal_mask.py", KEEP], ["wait", 400], "run"]
    [question] = debrief(project, ("mock causal_mask", steps))["questions"]
    assert [(m["name"], m["counts_as"]) for m in question["mistakes"]] == [("inverted_polarity", "a bug")]


def test_an_assumption_is_compared_with_the_contract(project: Project) -> None:
    steps = ["assume True means keep", ["write", "causal_mask.py", KEEP], ["wait", 400]]
    [question] = debrief(project, ("mock causal_mask", steps))["questions"]
    [said] = [term for term in question["clarified"] if term["how"]]
    assert (said["how"], said["text"]) == ("assumed otherwise", "True means keep")
    assert question["mistakes"][0]["counts_as"] == "an assumption that was wrong"


def test_what_is_asked_after_the_first_submission_does_not_count(project: Project) -> None:
    steps = ["submit", "what does True mean?", "quit"]
    [question] = debrief(project, ("mock causal_mask", steps))["questions"]
    assert [term["how"] for term in question["clarified"] if term["how"]] == []
    assert question["asks"] == 1


def test_warnings_come_once_at_half_time_five_minutes_and_one_minute(project: Project) -> None:
    steps = [["wait", 601], "status", "status", ["wait", 301], "status", ["wait", 241], "status", "status"]
    [said] = play(project, ("mock pre_ln_block", steps))
    assert said.out.count("Half of the time is over.") == 1
    assert said.out.count("Five minutes left.") == 1
    assert said.out.count("One minute left.") == 1


def test_the_clock_runs_on_while_nobody_is_there(project: Project) -> None:
    left, status, resumed = play(
        project,
        ("mock pre_ln_block", [["wait", 60]]),
        ("mock status", [["wait", 100]]),
        ("mock resume", []),
    )
    assert "runs on, 19:00 left" in left.out
    assert "19:00 left of 20:00" in status.out
    assert "17:20 left of 20:00" in resumed.out


def test_time_that_runs_out_while_away_leads_to_the_debrief(project: Project) -> None:
    steps = [["write", "causal_mask.py", RIGHT]]
    *_, back = play(project, ("mock causal_mask", steps), ("history", [["wait", 1000]]), ("mock resume", []))
    assert back.status == 0
    assert "The time ran out while you were away." in back.out
    assert "causal_mask: STRONG in 5:00" in back.out
    whole = debrief(project)
    assert (whole["ended"], whole["seconds"], whole["questions"][0]["verdict"]) == ("time", 300, "strong")


def test_edits_after_the_time_do_not_count_and_are_reported(project: Project) -> None:
    steps = [["write", "causal_mask.py", REVERSED], "status"]
    away = [["wait", 1000], ["write", "causal_mask.py", RIGHT]]
    whole = debrief(project, ("mock causal_mask", steps), ("mock status", away), ("mock resume", []))
    [question] = whole["questions"]
    assert question["changed_after_time"] is True
    assert [m["name"] for m in question["mistakes"]] == ["reversed_mask"]


@pytest.mark.parametrize("jump", [-7200, 7200])
def test_a_wall_clock_that_is_set_changes_nothing(project: Project, jump: int) -> None:
    _, status = play(project, ("mock pre_ln_block", [["wait", 60], ["set", jump]]), ("mock status", []))
    assert "19:00 left of 20:00" in status.out


def test_across_a_reboot_the_wall_clock_tells_and_never_gives_time_back(project: Project) -> None:
    steps = [["wait", 60], "status", ["reboot"], ["wait", 30]]
    _, status, later = play(
        project, ("mock pre_ln_block", steps), ("mock status", [["reboot"], ["set", -9999]]), ("mock status", [])
    )
    assert "18:30 left of 20:00" in status.out
    assert "18:30 left of 20:00" in later.out


def test_pausing_stops_the_clock_only_where_it_was_agreed(project: Project) -> None:
    [refused] = play(project, ("mock causal_mask", ["pause", "quit"]))
    assert "cannot be paused" in refused.out
    steps = [["wait", 60], "pause", ["wait", 3600], "run", "resume", ["wait", 10], "status", "quit"]
    [said] = play(project, ("mock causal_mask --pausable", steps))
    assert "is paused: resume it first" in said.out
    assert "3:50 left of 5:00" in said.out


def test_a_second_terminal_and_only_one_interview_at_once(project: Project) -> None:
    _, second, asked, assumed, tried, hint, given, none = play(
        project,
        ("mock causal_mask", [["write", "causal_mask.py", RIGHT]]),
        ("mock split_heads", []),
        ("mock ask what does True mean?", []),
        ("mock assume a position sees itself", []),
        ("mock run", []),
        ("mock hint", []),
        ("mock submit", []),
        ("mock status", []),
    )
    assert second.status == 2
    assert "interview 1 is running" in second.err
    assert "Blocked" in asked.out
    assert "Noted" in assumed.out
    assert "1 of 1 visible examples as expected" in tried.out
    assert "Hint 1 of 3" in hint.out
    assert "core checks pass" in given.out
    assert none.status == 2
    [question] = debrief(project)["questions"]
    assert (question["asks"], question["runs"], question["hints"], question["verdict"]) == (1, 1, 1, "strong")


def test_the_questions_wait_until_somebody_answers(project: Project) -> None:
    _, first, again, nothing = play(
        project,
        ("mock causal_mask", ["quit", "one", "2"]),
        ("mock resume", ["two", "3"]),
        ("mock resume", ["three", "1"]),
        ("mock resume", []),
    )
    assert "Follow-up 2 of 3" in first.out
    assert "Follow-up 3 of 3" in again.out
    assert nothing.status == 2
    assert [a["text"] for a in debrief(project)["answers"]] == ["one", "two", "three"]


def test_a_set_moves_on_after_a_pass_and_by_next(project: Project) -> None:
    softmax = (outline.SOLUTIONS / "stable_softmax.py").read_text(encoding="utf-8")
    steps = [
        ["wait", 60],
        "next",
        ["write", "stable_softmax.py", softmax],
        ["wait", 90],
        "submit",
    ]
    whole = debrief(project, ("mock causal_mask stable_softmax", steps))
    assert whole["ended"] == "submitted"
    assert [(q["kata"], q["verdict"], q["seconds"]) for q in whole["questions"]] == [
        ("causal_mask", "fail", 60),
        ("stable_softmax", "strong", 90),
    ]


def test_the_panel_carries_the_block_into_the_add_on(project: Project) -> None:
    block = (outline.SOLUTIONS / "pre_ln_block.py").read_text(encoding="utf-8")
    block = block.replace("def layer_norm", "# my own norm\ndef layer_norm")
    steps = ["next", ["write", "pre_ln_block.py", block], "submit", "run"]
    [said] = play(project, ("mock --panel --seed 3", steps))
    assert "You have 45 minutes" in said.out
    [path] = (project.folder / "mock").glob("*/cross_attention.py")
    text = path.read_text(encoding="utf-8")
    assert "# my own norm" in text
    assert "Contract" not in text
    assert text.rstrip().endswith("raise NotImplementedError")
    compile(text, "stub", "exec")
    assert "pre_ln_block: all" in said.out


def test_drawing_is_a_warm_up_and_a_main_question_that_fit(project: Project) -> None:
    for seed in range(2):
        [said] = play(project, (f"mock --minutes 30 --seed {seed}", ["quit"]))
        assert "You have 30 minutes" in said.out
        questions = debrief(project)["questions"]
        assert len(questions) == 2
        par = [q["par"] / 60 for q in questions]
        assert par[0] <= 8 < par[1]
        assert sum(par) <= 30
        [again] = play(project, (f"mock --minutes 30 --seed {seed}", ["quit"]))
        assert [q["kata"] for q in debrief(project)["questions"]] == [q["kata"] for q in questions]
        assert again.status == 0


def test_an_unwritable_state_is_said_and_the_interview_goes_on(project: Project, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    steps = [["write", "causal_mask.py", RIGHT], "run", ["wait", 60], "submit", "x", "1", "y", "2", "z", "3"]
    [said] = play(project, ("mock causal_mask", steps), KATA_HOME=str(blocked / "home"))
    assert said.status == 0
    assert "STRONG in 1:00" in said.out
    assert "not saved" in said.err
    assert blocked.read_text() == "in the way"


def test_no_code_no_mistake_and_no_crash_is_lost_on_the_way(project: Project) -> None:
    steps = [
        ["write", "causal_mask.py", "def causal_mask(length:\n"],
        "run",
        "submit",
        ["write", "causal_mask.py", "def causal_mask(length):\n    print('here')\n    return 1 / 0\n"],
        "run",
        "submit",
        "nonsense",
        "ask",
        "quit",
    ]
    [said] = play(project, ("mock causal_mask", steps))
    assert "SyntaxError" in said.out
    assert "ZeroDivisionError" in said.out
    assert "here" in said.out
    assert "'nonsense' is not a command here" in said.out
    assert "Traceback (most" not in said.out + said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("mock causl_mask", "did you mean causal_mask?"),
        ("mock --track 9", "no track 9"),
        ("mock --minutes 0", "--minutes"),
        ("mock resume", "no interview is running"),
        ("mock --panel causal_mask", "--panel"),
        ("debrief", "no interview yet"),
        ("debrief 7", "no interview"),
        ("debug causal_mask split_heads", "one kata"),
    ],
)
def test_usage(project: Project, words: str, says: str) -> None:
    [said] = play(project, (words, []))
    assert said.status == 2
    assert says in said.err
    assert said.out == ""


def test_of_two_interviews_started_at_once_one_is_refused_and_neither_spoils_the_other(project: Project) -> None:
    words = [sys.executable, "-m", "harness", "mock", "causal_mask"]
    both = [
        subprocess.Popen(
            words, cwd=project.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    ended = [(one.communicate(timeout=60), one.returncode) for one in both]
    assert sorted(status for _, status in ended) == [0, 2]
    [refused] = [err.decode() for (_, err), status in ended if status == 2]
    assert "interview 1 is running" in refused
    assert len(list((project.folder / "mock").iterdir())) == 1


def test_the_history_has_no_event_twice_and_a_torn_line_costs_that_line_alone(project: Project) -> None:
    play(project, ("mock causal_mask", ["what does True mean?", "run"]))
    file = project.folder / ".kata" / "history.jsonl"
    file.write_bytes(file.read_bytes()[:-7])  # killed while it wrote
    [back] = play(project, ("mock resume", ["status"]))
    assert "1 asked, 0 assumed, 0 runs" in back.out
    assert json.loads(play(project, ("history --json", []))[0].out)["damaged"] != []


def test_nothing_of_the_interviews_is_named_before_the_end(project: Project) -> None:
    steps = [["write", "causal_mask.py", REVERSED], "submit", "run", "status", "question"]
    [said] = play(project, ("mock causal_mask", steps))
    assert "reversed_mask" not in said.out
    refused = play(project, ("show causal_mask", []), ("solution causal_mask", []), ("hint causal_mask", []))
    assert [one.status for one in refused] == [2, 2, 2]
    assert all("a mock on causal_mask is running" in one.err for one in refused)


def test_the_result_of_an_interview_moves_the_kata_in_the_schedule(project: Project) -> None:
    steps = [["write", "causal_mask.py", RIGHT], ["wait", 90], "submit"]
    _, board = play(project, ("mock causal_mask", steps), ("--json", []))
    [kata] = [k for k in json.loads(board.out)["katas"] if k["kata"] == "causal_mask"]
    assert (kata["best_seconds"], kata["box"], kata["attempts"]) == (90, 1, 1)
    [kept] = play(project, ("attempts causal_mask --show 1", []))
    assert "np.triu(blocked, k=1)" in kept.out


def start_line(**facts: Any) -> str:
    """A start as the history would hold it, with some facts made odd."""
    whole: dict[str, Any] = {"v": 1, "at": "2026-11-01T10:00:00Z", "event": "mock", "id": 1, "do": "start"}
    whole |= {
        "clock": [1.0, 1.0, "x"],
        "kind": "mock",
        "questions": ["causal_mask"],
        "minutes": 5,
        "folder": "/nowhere",
    }
    return json.dumps({**whole, "seed": 1, "pausable": False, **facts}) + "\n"


@pytest.mark.parametrize(
    "facts",
    [
        {"id": "1"},
        {"id": 1.5},
        {"id": float("inf")},
        {"clock": ["a", "b", ""]},
        {"clock": [1]},
        {"minutes": float("nan")},
        {"minutes": "5"},
        {"questions": []},
        {"questions": ["gone"]},
        {"folder": 5},
        {"planted": []},
        {"planted": {"causal_mask": [["x"]]}},
    ],
)
def test_an_odd_event_of_an_interview_bricks_nothing(project: Project, facts: dict[str, Any]) -> None:
    (project.folder / ".kata").mkdir()
    (project.folder / ".kata" / "history.jsonl").write_text(start_line(**facts))
    said = play(project, ("mock status", []), ("mock causal_mask", ["run", "quit", "x", "1"]), ("debrief", []))
    assert [one.status for one in said] == [2, 0, 0]


@pytest.mark.parametrize("do", ["ask", "assume", "submit", "graded", "mended", "answer", "end", "hint", "resume"])
def test_an_event_without_its_facts_is_passed_over(project: Project, do: str) -> None:
    line = json.dumps({**json.loads(start_line()), "do": do})
    play(project, ("mock causal_mask", []))
    with open(project.folder / ".kata" / "history.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
    said = play(project, ("mock stop", []), ("debrief", []))
    assert [one.status for one in said] == [0, 0]


def test_a_folder_that_was_removed_is_made_again_with_what_was_written(project: Project) -> None:
    play(project, ("mock causal_mask", [["write", "causal_mask.py", RIGHT], "run"]))
    shutil.rmtree(project.folder / "mock")
    whole = debrief(project, ("mock resume", ["submit"]))
    assert whole["questions"][0]["verdict"] == "strong"


def test_a_wall_clock_set_back_does_not_take_what_was_saved_in_time(project: Project) -> None:
    steps = [["wait", 60], ["write", "causal_mask.py", RIGHT], ["set", -7200], ["wait", 900]]
    whole = debrief(project, ("mock causal_mask", []), ("history", steps), ("mock resume", []))
    assert whole["questions"][0]["verdict"] == "strong"
    assert whole["time_unsure"] is True


@pytest.mark.parametrize("last", ["submit", "end", "graded"])
def test_killed_between_the_last_steps_it_is_finished_later(project: Project, last: str) -> None:
    play(project, ("mock causal_mask", [["write", "causal_mask.py", RIGHT], "submit"]))
    file = project.folder / ".kata" / "history.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    end = next(n for n, line in enumerate(lines) if json.loads(line).get("do") == last)
    file.write_text("".join(lines[: end + 1]))
    whole = debrief(project, ("mock resume", []))
    assert (whole["ended"], whole["questions"][0]["verdict"]) == ("submitted", "strong")
    done = [json.loads(line) for line in file.read_text().splitlines()]
    assert [e["kata"] for e in done if e["event"] == "interviewed"] == ["causal_mask"]


def test_what_is_typed_holds_no_escape_sequences(project: Project) -> None:
    _, told = play(
        project, ("mock causal_mask", ["assume \x1b[31mred\x00", "quit", "\x1b[2Jgone", "9", "3"]), ("debrief", [])
    )
    assert "\x1b" not in told.out
    assert "red" in told.out
    assert "rated 3 of 3" in told.out


def test_a_book_is_no_question(project: Project) -> None:
    [said] = play(project, ("mock causal_mask", ["ask " + "modify true " * 20_000, "quit"]))
    assert said.status == 0


def test_the_daily_loop_does_not_help_in_an_interview(project: Project) -> None:
    play(project, ("mock causal_mask", []))
    for words in ("check causal_mask", "watch causal_mask", "attempts causal_mask --show 1"):
        [said] = play(project, (words, []))
        assert said.status == 2
        assert "a mock on causal_mask is running" in said.err


def test_what_is_written_during_a_pause_is_reported(project: Project) -> None:
    steps = ["pause", ["write", "causal_mask.py", RIGHT], "resume", "submit"]
    whole = debrief(project, ("mock causal_mask --pausable", steps))
    assert whole["questions"][0]["changed_while_paused"] is True


def test_closed_streams_are_no_fault_of_the_kit(project: Project) -> None:
    for shell in ("<&-", ">&-", "2>&-", "</dev/null >/dev/full"):
        line = f'"{sys.executable}" -m harness mock causal_mask {shell}'
        done = subprocess.run(["sh", "-c", line], cwd=project.folder, capture_output=True, text=True, timeout=60)
        assert "the kit itself failed" not in done.stderr, shell
        play(project, ("mock stop", []))


def test_an_assumption_in_other_words_and_about_no_term_is_kept(project: Project) -> None:
    steps = ["I assume a position sees itself", "assume the moon is blue", "quit"]
    [question] = debrief(project, ("mock causal_mask", steps))["questions"]
    assert [t["text"] for t in question["clarified"] if t["how"] == "assumed"] == ["a position sees itself"]
    assert [said["text"] for said in question["also_said"]] == ["the moon is blue"]


def test_mistakes_on_the_way_are_told(project: Project) -> None:
    steps = [["write", "causal_mask.py", REVERSED], "submit", ["write", "causal_mask.py", RIGHT], "submit"]
    whole = debrief(project, ("mock causal_mask", steps))
    assert whole["questions"][0]["mended"] == ["reversed_mask"]


def test_a_second_terminal_never_asks_the_questions(project: Project) -> None:
    _, status, back = play(project, ("mock causal_mask", []), ("mock status", [["wait", 999]]), ("mock run", []))
    later = play(project, ("mock causal_mask", []), ("history", [["wait", 999]]), ("mock status", ["an answer"]))[-1]
    assert "Follow-up" not in status.out + back.out + later.out
    assert "is over" in later.out


def test_a_failed_interview_comes_first(project: Project) -> None:
    *_, board = play(project, ("mock split_heads", ["quit"]), ("--json", []))
    assert json.loads(board.out)["next"]["kata"] == "split_heads"
