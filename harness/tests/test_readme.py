"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from harness import outline
from harness.tests.play import play
from harness.tests.project import Project

README = (outline.ROOT / "README.md").read_text(encoding="utf-8")


def fence(kind: str, number: int = 0) -> str:
    """The text of the fenced block of that kind and number."""
    found = re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(found[number])


def block(name: str) -> str:
    """The text between the markers of that name."""
    return README.split(f"<!-- {name} -->\n```\n")[1].split(f"```\n<!-- /{name} -->")[0]


def test_the_two_commands_stand_first() -> None:
    commands = re.findall(r"^python -m pip .*$", README, re.MULTILINE)
    assert commands[0] == "python -m pip install -e . && pytest katas/"
    assert commands[1] == 'python -m pip install -e ".[dev]" && pytest'


def test_the_tour_is_real(tmp_path: Path) -> None:
    project = Project(tmp_path / "clone")
    project.kata("causal_mask", "import numpy as np\n\n\n" + fence("python"))
    shown = project.pytest("katas/causal_mask.py", "-x").stdout
    failure = shown[shown.index("____________________________ causal_mask: ") : shown.index("=== short test summary")]
    assert block("tour").rstrip() == failure.rsplit("\n", 1)[0].rstrip()


def test_the_decoder_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    done = Project(tmp_path / "clone").run("-c", fence("python", 1))
    assert done.stdout.splitlines() == ["(2, 4, 11)", "True", "False"]
    assert "prints `(2, 4, 11)`, `True` and `False`." in README


def test_the_table_lists_every_kata_with_its_minutes() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", README, re.MULTILINE)
    assert rows == [(name, str(outline.outline(name).minutes)) for name in outline.names()]


def test_the_dashboard_is_real(tmp_path: Path) -> None:
    project = Project(tmp_path / "clone")
    project.kata("causal_mask", "import numpy as np\n\n\n" + fence("python"))
    project.solve("stable_softmax")
    shown = project.run("-m", "harness").stdout
    assert re.sub(r"\ntrack 2.*?\n\n", "\n[...]\n\n", shown, flags=re.DOTALL) == block("dashboard")


def test_the_debrief_is_real(tmp_path: Path) -> None:
    solved = (outline.SOLUTIONS / "causal_mask.py").read_text(encoding="utf-8")
    keep = solved.replace("np.triu(blocked, k=1)", "np.tril(blocked)")
    steps = [
        ["wait", 40],
        "does a position see itself?",
        "assume the dtype is bool",
        ["write", "causal_mask.py", keep],
        ["wait", 95],
        "run",
        "submit",
        "quit",
        "The docs; or change the last token: what came earlier must stay.",
        "3",
    ]
    *_, debrief = play(Project(tmp_path / "clone"), ("mock causal_mask --seed 1", steps), ("debrief", []))
    assert debrief.out == block("debrief")
