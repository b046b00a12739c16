"""The daily loop through the command line: dashboard, show, check, hint, solution, quiz, shapes, names and help."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness import outline, registry
from harness.tests.project import Project

REVERSED = ("k=1", "k=-1"), ("np.triu", "np.tril")
ALONE = (
    "import sys\nfrom harness.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
    "print('numpy' in sys.modules, file=sys.stderr)\n"
)
COMMANDS = (
    *("show", "check", "hint", "solution", "reset", "attempts", "watch", "quiz", "shapes", "mock", "debug"),
    *("debrief", "history", "grade", "help"),
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def kata(project: Project, *words: str, stdin: str = "", status: int = 0, **env: str) -> str:
    """What a command prints."""
    done = project.run("-m", "harness", *words, stdin=stdin, **env)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def events(project: Project, kind: str) -> list[dict[str, Any]]:
    found = json.loads(kata(project, "history", "--json"))["events"]
    return [event for event in found if event["event"] == kind]


def open_mock(project: Project, *questions: str) -> None:
    """Write down that a mock interview has begun."""
    start = {"v": 1, "at": datetime.now(UTC).isoformat(), "event": "mock", "id": 1, "do": "start"}
    path = project.folder / ".kata" / "history.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**start, "questions": questions}) + "\n")


@pytest.mark.parametrize("columns", [60, 80])
def test_the_dashboard_says_where_everything_stands(project: Project, columns: int) -> None:
    project.solve("causal_mask", *REVERSED)
    project.solve("stable_softmax")
    project.solve("split_heads", ("heads < 1 or d", "d"))
    project.kata("tied_logits", "def embed(:\n")
    project.pytest("katas/")
    shown = kata(project, COLUMNS=str(columns))
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.startswith("  ")}
    assert rows["causal_mask"][:2] == ["failing", "1"]
    assert rows["reversed_mask"] == []
    assert rows["stable_softmax"][:2] == ["strong", "1"]
    assert rows["stable_softmax"][-1] == "tomorrow"
    assert rows["split_heads"][:2] == ["passing", "1"]
    assert rows["tied_logits"][0] == "broken"
    assert rows["pre_ln_block"][:2] == ["todo", "-"]
    assert "- / 20 min" in shown
    assert shown.endswith("  kata watch causal_mask\n") or shown.endswith("  kata watch tied_logits\n")
    assert max(map(len, shown.splitlines())) <= columns
    assert len(shown.splitlines()) < 10 + len(outline.names())
    assert ("today" in shown) == (columns == 80)
    assert {e["by"] for e in events(project, "check")} == {"pytest"}


def test_what_was_not_graded_yet_is_graded_on_the_way_once(project: Project) -> None:
    project.solve("causal_mask", *REVERSED)
    for _ in range(2):
        document = json.loads(kata(project, "--json"))
    first = document["katas"][0]
    assert (first["state"], first["mistakes"], first["attempts"]) == ("failing", ["reversed_mask"], 1)
    [check] = events(project, "check")
    assert (check["kata"], check["by"], check["verdict"]) == ("causal_mask", "kata", "fail")


def test_mock_times_stand_against_the_par(project: Project) -> None:
    facts = {"verdict": "pass", "seconds": 250, "par": 300, "kata": "causal_mask", "hints": 0}
    event = {"v": 1, "at": datetime.now(UTC).isoformat(), "event": "interviewed", **facts}
    (project.folder / ".kata").mkdir()
    (project.folder / ".kata" / "history.jsonl").write_text(json.dumps(event) + "\n")
    assert "4:10 / 5 min" in kata(project)


def test_show_prints_the_prompt_and_the_interviewers(project: Project) -> None:
    whole, short = kata(project, "show", "cau"), kata(project, "show", "cau", "--short")
    assert "\nContract\n" in whole
    assert "Contract" not in short
    assert whole.startswith(short.split("\n\nWrite")[0])
    assert re.search(r"katas/causal_mask\.py:\d+$", whole.strip())


def test_check_says_what_pytest_says(project: Project) -> None:
    project.solve("causal_mask", *REVERSED)
    project.solve("stable_softmax")
    shown = kata(project, "check", status=1)
    assert "katas/causal_mask.py: FAIL as causal_mask" in shown
    assert "reversed_mask: the mask direction is reversed" in shown
    assert "STRONG as stable_softmax" in shown
    assert "split_heads" not in shown
    assert re.search(r"^katas/causal_mask\.py:\d+$", shown, re.MULTILINE)
    assert kata(project, "check", "soft", "--seed", "3").startswith("katas/stable_softmax.py: STRONG")


def test_check_of_nothing_started_says_where_to_begin(project: Project) -> None:
    shown = kata(project, "check", status=1)
    assert "katas/causal_mask.py: NOT STARTED" in shown
    assert "NOT STARTED" in shown
    assert events(project, "check") == []


def test_check_shows_what_the_code_printed(project: Project) -> None:
    project.kata("causal_mask", "def causal_mask(length):\n    print('length is', length)\n    return None\n")
    assert "You printed\n  length is " in kata(project, "check", status=1)


def test_hints_go_on_and_aim_at_the_mistake(project: Project) -> None:
    own = registry.kata("causal_mask").hints
    assert " ".join(kata(project, "hint", "causal").split()).endswith(own[0])
    project.solve("causal_mask", *REVERSED)
    shown = [kata(project, "hint", "causal") for _ in range(4)]
    assert "Hint 1 of 3, about reversed_mask:" in shown[0]
    assert "causal_mask(4)" in shown[0]
    assert "Look at: triu or tril" in shown[1]
    assert "Hint 3 of 3" in shown[2]
    assert "kata solution causal_mask" in shown[3]
    assert shown[3].startswith(shown[2])
    project.solve("causal_mask", ("k=1", "k=0"))
    assert "Hint 1 of 3, about diagonal_blocked:" in kata(project, "hint", "causal")
    project.kata("causal_mask", "def causal_mask(length):\n    return 7\n")
    assert "Hint 2 of 3:" in kata(project, "hint", "causal")
    kata(project, "reset", "causal")
    assert "Hint 1 of 3:" in kata(project, "hint", "causal")
    assert [e["mistake"] for e in events(project, "hint")][:3] == ["", "reversed_mask", "reversed_mask"]


def test_no_hint_holds_code_of_the_solution(project: Project) -> None:
    for name in outline.names():
        solution = (outline.SOLUTIONS / f"{name}.py").read_text()
        code = solution.split('"""')[2] if solution.count('"""') > 1 else solution
        lines = [line.strip() for line in code.splitlines() if line.startswith("    ") and len(line.strip()) > 12]
        told = [*registry.kata(name).hints, *(m.hint for m in registry.kata(name).mistakes)]
        assert not [line for line in lines for hint in told if line in hint], name


def test_a_pass_leaves_its_follow_ups_to_hint_at(project: Project) -> None:
    project.solve("causal_mask", ("length < 1", "length < -9"))
    assert "causal_mask passes. A follow-up is still open" in kata(project, "hint", "causal")
    project.solve("causal_mask")
    assert "nothing left to hint at" in kata(project, "hint", "causal")


def test_a_broken_file_is_said_before_the_hint(project: Project) -> None:
    project.kata("causal_mask", "def causal_mask(:\n")
    shown = kata(project, "hint", "causal")
    assert "SyntaxError" in shown
    assert "Hint 1 of 3" in shown


def test_the_solution_is_shown_when_asked_twice(project: Project) -> None:
    solution = (outline.SOLUTIONS / "causal_mask.py").read_text()
    project.solve("causal_mask", *REVERSED)
    assert "np.triu" not in kata(project, "solution", "causal", status=1)
    assert kata(project, "solution", "causal") == solution
    assert [e["shown"] for e in events(project, "solution")] == [False, True]
    kata(project, "reset", "causal")
    kata(project, "solution", "causal", status=1)


def test_the_solution_is_shown_after_a_pass(project: Project) -> None:
    project.solve("causal_mask", ("length < 1", "length < -9"))
    assert "np.triu" in kata(project, "solution", "causal")
    kata(project, "reset", "causal")
    kata(project, "solution", "causal", status=1)


def test_asking_for_a_solution_that_cannot_be_remembered(project: Project) -> None:
    shown = kata(project, "solution", "causal", status=1, KATA_HOME=str(project.folder / "pyproject.toml"))
    assert str(project.folder / "solutions" / "causal_mask.py") in shown


@pytest.mark.parametrize("command", ["show", "hint", "solution", "quiz", "shapes", "watch"])
def test_a_running_mock_keeps_its_prompt_and_its_help(project: Project, command: str) -> None:
    open_mock(project, "causal_mask", "split_heads")
    shown = kata(project, command, "causal", status=2)
    assert shown == f"kata {command}: a mock on causal_mask is running: finish it first (kata mock resume)\n"
    assert kata(project).endswith("  kata mock resume\n")


def test_the_quiz_asks_shows_and_rates(project: Project) -> None:
    cards = registry.kata("causal_mask").questions
    shown = kata(project, "quiz", "causal", "--count", "2", stdin="it is\n3\n\nmaybe\n1\n")
    for card in cards[:2]:
        assert card.asks in " ".join(shown.split())
        assert card.answer in " ".join(shown.split())
    assert shown.index("your answer") < shown.index("A good answer")
    rated = [(e["question"], e["rating"], e["answer"]) for e in events(project, "quiz")]
    assert rated == [(cards[0].asks, 3, "it is"), (cards[1].asks, 1, "")]
    again = kata(project, "quiz", "causal", "--count", "99", stdin="\n3\n" * 99)
    asked = [e["question"] for e in events(project, "quiz")[2:]]
    assert asked[0] == cards[1].asks  # the least known first
    assert asked[-1] == cards[0].asks
    assert set(asked) == {c.asks for c in cards} | {t.asks for t in registry.kata("causal_mask").terms}
    assert f"{len(asked)} of {len(asked)} answered" in again


def test_the_quiz_ends_with_its_input(project: Project) -> None:
    assert "1 of 5 answered" in kata(project, "quiz", stdin="\n2\nI th")
    assert [(e["answer"], e["rating"]) for e in events(project, "quiz")] == [("", 2), ("I th", None)]


def test_a_quiz_of_everything_asks_for_symptoms_too(project: Project) -> None:
    kata(project, "quiz", "--count", "999", stdin="\n1\n" * 999)
    assert {e["kata"] for e in events(project, "quiz")} == {*outline.names(), "symptoms"}


@pytest.mark.parametrize("form", ["({})", "{}", "[ {} ]"])
def test_shapes_are_graded_at_once(project: Project, form: str) -> None:
    asked = kata(project, "shapes", "pre_ln", "--seed", "5")
    sizes = {k: int(v) for k, v in re.findall(r"(\w+) = (\d+)", asked)}
    assert set(sizes) == {"B", "T", "d", "H"}
    assert len(set(sizes.values())) == len(sizes)
    sizes["dh"] = sizes["d"] // sizes["H"]
    assert sizes["d"] == sizes["dh"] * sizes["H"]
    shapes = registry.kata("pre_ln_block").shapes
    words = [re.findall(r"\w+", letters) for letters in shapes.values()]
    answers = [form.format(", ".join(str(sizes.get(w, w)) for w in letters)) for letters in words]
    shown = kata(project, "shapes", "pre_ln", "--seed", "5", stdin="\n".join(answers) + "\n")
    assert f"{len(shapes)} of {len(shapes)} right" in shown
    shown = kata(project, "shapes", "pre_ln", "--seed", "5", stdin="\n".join(["9 9", "what?", *answers[1:]]) + "\n")
    assert f"{len(shapes) - 1} of {len(shapes)} right" in shown
    assert next(iter(shapes.values())) in shown
    assert [e["right"] for e in events(project, "shapes")] == [0, len(shapes), len(shapes) - 1]


def test_every_kata_has_something_to_say(project: Project) -> None:
    for name in outline.names():
        declared = registry.kata(name)
        assert len(declared.hints) == 3, name
        assert declared.questions, name
        for letters in declared.shapes.values():
            assert set(re.findall(r"[a-zA-Z]\w*", letters)) <= {"B", "T", "S", "d", "H", "dh", "f", "V", "N"}, name


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("cau", ""),
        ("softmax", ""),
        ("katas/causal_mask.py", ""),
        ("s", "kata show: 's' may be stable_softmax or split_heads"),
        ("causal_msk", "did you mean causal_mask?"),
        ("xyzzy", "the katas are causal_mask, "),
        ("", "there is no kata ''"),
        ("../katas", "there is no kata"),
    ],
)
def test_names_complete(project: Project, word: str, says: str) -> None:
    done = project.run("-m", "harness", "show", word)
    assert done.returncode == (2 if says else 0)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == bool(says)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_examples(project: Project, command: str) -> None:
    for words in ([command, "--help"], ["help", command]):
        shown = kata(project, *words)
        assert shown.startswith(f"examples:\n  kata {command}")
        assert max(map(len, shown.splitlines())) <= 100


def test_the_help_lists_every_command_and_the_rule(project: Project) -> None:
    shown = kata(project, "--help")
    assert shown.startswith("examples:\n  kata ")
    for command in COMMANDS:
        assert re.search(rf"^    {command} ", shown, re.MULTILINE), command
    assert kata(project, "help", "schedule").strip() in shown


@pytest.mark.parametrize("words", [[], ["show", "cau"], ["--help"], ["history"], ["attempts", "cau"], ["check", "-h"]])
def test_what_grades_nothing_loads_no_numpy(project: Project, words: list[str]) -> None:
    assert project.run("-c", ALONE, *words).stderr.splitlines()[-1] == "False"


def test_a_closed_pipe_is_quiet(project: Project) -> None:
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'harness', 'show', 'cau'], stdout=-1, stderr=-1)\n"
        "p.stdout.close()\nprint(p.stderr.read().decode(), p.wait())\n"
    )
    assert project.run("-c", code).stdout == " 141\n"


def test_a_fault_of_the_kit_is_one_line(project: Project) -> None:
    (project.folder / "harness" / "attempts.py").open("a").write("\n\ndef kept(name):\n    return 1 / 0\n")
    shown = kata(project, "attempts", "causal", status=3)
    assert len(shown.splitlines()) == 1
    assert "the kit itself failed, in attempts.py" in shown
    assert "KATA_DEBUG=1" in shown
    assert "ZeroDivisionError" in project.run("-m", "harness", "attempts", "causal", KATA_DEBUG="1").stderr
