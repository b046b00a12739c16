"""`pytest katas/` as a person runs it: in a process of its own, on a copy of the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from harness import outline
from harness.tests.processes import alive, descendants
from harness.tests.project import Project

REVERSED = ("k=1", "k=-1"), ("np.triu", "np.tril")
SOFTMAX_BROKEN = """
import numpy as np
print("imported")

def stable_softmax(scores, axis=-1):
    print("scores have shape", scores.shape)
    peak = scores.max(axis=axis, keepdims=True)
    raise KeyError("not today")
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "clone")


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The closing summary's last line, before pytest's own."""
    return next(line for line in reversed(done.stdout.splitlines()) if " passing" in line)


def test_an_untouched_clone_is_quiet(project: Project) -> None:
    done = project.pytest("katas/")
    total = len(outline.names())
    assert done.returncode == 0
    assert len(re.findall(r"^katas/\w+\.py not started ", done.stdout, re.MULTILINE)) == total
    assert last_line(done) == f"0 of {total} passing · {total} not started · next: causal_mask"
    assert len(done.stdout.splitlines()) < 20 + total


def test_comments_and_blank_lines_do_not_start_a_kata(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.write_text(path.read_text().replace("import numpy", "# tomorrow\n\nimport numpy"))
    assert "0 of 1 passing · 1 not started" in project.pytest("katas/causal_mask.py").stdout


def test_not_implemented_in_edited_code_is_a_failure(project: Project) -> None:
    path = project.folder / "katas" / "causal_mask.py"
    path.write_text(path.read_text().replace("    raise Not", "    size = length\n    raise Not"))
    done = project.pytest("katas/causal_mask.py")
    assert done.returncode == 1
    assert "raised NotImplementedError" in done.stdout
    assert last_line(done).startswith("0 of 1 passing · 1 failing")


def test_all_solved(project: Project) -> None:
    for name in outline.names():
        project.solve(name)
    done = project.pytest("katas/")
    total = len(outline.names())
    assert done.returncode == 0, done.stdout
    assert last_line(done) == f"{total} of {total} passing"


def test_the_closing_summary_counts_and_says_what_is_next(project: Project) -> None:
    project.solve("causal_mask")
    project.solve("stable_softmax", ("scores - peak", "scores"))
    done = project.pytest("katas/")
    total = len(outline.names())
    expected = f"1 of {total} passing · 1 failing · {total - 2} not started · next: stable_softmax"
    assert last_line(done) == expected
    assert done.returncode == 1


@pytest.mark.parametrize("words", [(), ("-vv",), ("-ra",), ("-q",)])
@pytest.mark.parametrize("env", [{}, {"CI": "true"}])
def test_a_reversed_mask_is_named_once(project: Project, words: tuple[str, ...], env: dict[str, str]) -> None:
    project.solve("causal_mask", *REVERSED)
    project.solve("pre_ln_block", *REVERSED)
    done = project.pytest("katas/", *words, **env)
    for name in ("causal_mask", "pre_ln_block"):
        part = done.stdout.split(f" {name}: ", 1)[1].split(" _\n")[0]
        assert "reversed: position i sees only j >= i" in part
    assert len(re.findall(r"^reversed_mask: the mask direction is reversed", done.stdout, re.MULTILINE)) == 2
    if not words and not env:  # pytest's own lines are longer with -vv, and where it finds itself in CI
        assert (
            max(len(line) for line in done.stdout.splitlines() if not line.startswith(("rootdir:", "plugins:"))) <= 80
        )


def test_follow_ups_are_listed_and_do_not_fail_the_run(project: Project) -> None:
    project.solve("causal_mask", ("length < 1", "length < -9"))
    done = project.pytest("katas/causal_mask.py")
    assert done.returncode == 0
    assert "follow-ups still open" in done.stdout
    assert "causal_mask: a length below 1 raises ValueError" in done.stdout
    assert last_line(done) == "1 of 1 passing"


def test_selection_by_file_node_and_keyword(project: Project) -> None:
    project.solve("causal_mask")
    number = len(outline.outline("causal_mask").checks)
    assert f"{number} passed" in project.pytest("katas/causal_mask.py").stdout
    assert "1 passed" in project.pytest("katas/causal_mask.py::direction").stdout
    assert f"{number} passed" in project.pytest("katas/", "-k", "mask").stdout
    assert f"{number} passed" in project.pytest("katas/", "-k", "causal", "-q").stdout
    assert f"{number} passed" in project.pytest("causal_mask.py", cwd="katas").stdout
    assert f"{number} passed" in project.pytest(cwd="katas").stdout
    verbose = project.pytest("katas/causal_mask.py", "-v").stdout
    assert "katas/causal_mask.py::direction PASSED" in verbose


def test_last_failed_and_exit_first(project: Project) -> None:
    project.solve("causal_mask", *REVERSED)
    first = project.pytest("katas/causal_mask.py", "-x")
    assert first.stdout.count("FAILED katas/") == 1
    assert "reversed_mask" in first.stdout
    project.solve("causal_mask")
    again = project.pytest("katas/causal_mask.py", "--lf", "-v")
    assert again.returncode == 0
    assert again.stdout.count("PASSED") == 1


def test_collect_only_lists_readable_ids_and_runs_nothing(project: Project) -> None:
    project.kata("causal_mask", "raise SystemExit('imported')")
    done = project.pytest("katas/", "--collect-only", "-q")
    assert done.returncode == 0
    assert "katas/causal_mask.py::direction" in done.stdout
    assert "katas/stable_softmax.py::" in done.stdout
    assert "imported" not in done.stdout + done.stderr


def test_junit_names_files_and_checks(project: Project) -> None:
    project.solve("causal_mask", *REVERSED)
    project.pytest("katas/causal_mask.py", "--junitxml=out.xml")
    cases = ElementTree.parse(project.folder / "out.xml").getroot().iter("testcase")
    failed = {case.get("name"): case for case in cases if case.find("failure") is not None}
    assert "direction" in failed
    text = failed["direction"].find("failure")
    assert text is not None
    assert "reversed: position i sees only j >= i" in f"{text.text}{text.get('message')}"


def test_prints_are_shown_on_failure_and_live_with_s(project: Project) -> None:
    project.kata("stable_softmax", SOFTMAX_BROKEN)
    captured = project.pytest("katas/stable_softmax.py").stdout
    assert "Captured stdout" in captured
    assert "scores have shape" in captured
    project.kata("stable_softmax", SOFTMAX_BROKEN.replace('raise KeyError("not today")', "return peak"))
    live = project.pytest("katas/stable_softmax.py", "-s").stdout
    assert "scores have shape" in live
    assert "Captured stdout" not in live


def test_an_exception_shows_the_persons_traceback_alone(project: Project) -> None:
    project.kata("stable_softmax", SOFTMAX_BROKEN)
    for option in ("--tb=auto", "--tb=long", "--tb=native", "--full-trace", "-l", "-vv", "--tb=short"):
        text = project.pytest("katas/stable_softmax.py", "-x", option).stdout
        assert "katas/stable_softmax.py:8 in stable_softmax" in text
        assert 'raise KeyError("not today")' in text
        for secret in ("harness/", "expect.", "rng", "def agrees", "weights.sum(", "Traceback (most recent"):
            assert secret not in text, (option, secret)


def test_numpy_warnings_of_the_persons_code_are_shown(project: Project) -> None:
    project.solve("stable_softmax", ("scores - peak", "scores"))
    text = project.pytest("katas/stable_softmax.py").stdout
    assert re.search(r"RuntimeWarning: overflow encountered in exp \(katas/stable_softmax.py:\d+\)", text)


def test_pdb_stops_in_the_persons_code(project: Project) -> None:
    project.kata("causal_mask", "def causal_mask(length):\n    size = length + 1\n    return size\n")
    done = project.pytest("katas/causal_mask.py", "--pdb", "-x", stdin="n\np 'size is', size\nc\n")
    assert "-> size = length + 1" in done.stdout
    assert re.search(r"\('size is', \d+\)", done.stdout)
    assert "reference" not in done.stdout
    project.kata("stable_softmax", SOFTMAX_BROKEN)
    raising = project.pytest("katas/stable_softmax.py", "--pdb", "-x", stdin="p peak.ndim\nq\n")
    assert '-> raise KeyError("not today")' in raising.stdout


BROKEN = {
    "causal_mask": ("def causal_mask(length:\n    return 1\n", "SyntaxError"),
    "stable_softmax": ("import sys\nsys.exit('bye')\n", "called sys.exit(bye)"),
    "split_heads": ("def split_heads(x, heads):\n    return x\n", "the file defines no merge_heads"),
    "tied_logits": ("import does_not_exist\n", "ModuleNotFoundError: No module named 'does_not_exist'"),
    "cross_attention": ("def cross_attention(x):\n    return x\n", "the signature is cross_attention(x), should be"),
    "pre_ln_block": (
        "import ctypes\n\ndef pre_ln_block(x, params, heads):\n    ctypes.string_at(0)\n",
        "SIGSEGV",
    ),
}


def test_broken_files_give_one_clear_failure_each(project: Project) -> None:
    for name, (source, _) in BROKEN.items():
        project.kata(name, source)
    done = project.pytest("katas/")
    assert done.returncode == 1
    for _, words in BROKEN.values():
        assert words in done.stdout
    assert len(re.findall(r"^FAILED ", done.stdout, re.MULTILINE)) == len(BROKEN)
    assert "harness" not in done.stdout
    assert "6 failing" in last_line(done)


def test_endless_loops_cost_their_own_kata_alone(project: Project) -> None:
    project.kata("causal_mask", "while True:\n    pass\n")
    loop = "import numpy as np\n\ndef stable_softmax(scores, axis=-1):\n    return {}\n"
    in_c = "np.add.reduce(np.lib.stride_tricks.as_strided(scores, (1 << 38,), (0,)))"
    project.kata("stable_softmax", loop.format(in_c))
    project.solve("split_heads")
    done = project.pytest("katas/causal_mask.py", "katas/stable_softmax.py", "katas/split_heads.py")
    assert "reached the time limit of 10 s in importing the file" in done.stdout
    assert "reached the time limit of 5 s in stable_softmax" in done.stdout
    assert "1 of 3 passing · 2 failing" in last_line(done)


def test_a_kata_may_import_another_of_the_persons_own(project: Project) -> None:
    mask = "import numpy as np\n\ndef causal_mask(length):\n    return np.tri(length, dtype=bool) == 0\n"
    project.kata("causal_mask", mask)
    project.solve(
        "pre_ln_block",
        ("import numpy as np", "import numpy as np\nfrom katas.causal_mask import causal_mask"),
        ("np.triu(np.ones((T, T), dtype=bool), k=1)", "causal_mask(T)"),
    )
    assert project.pytest("katas/pre_ln_block.py").returncode == 0
    project.kata("causal_mask", mask.replace("== 0", "== 1"))
    assert project.pytest("katas/pre_ln_block.py").returncode == 1


def test_the_seed_is_fixed_shown_and_can_be_changed(project: Project) -> None:
    project.solve("causal_mask")
    assert "seed 0 (" in project.pytest("katas/causal_mask.py").stdout
    assert "seed 7 (" in project.pytest("katas/causal_mask.py", "--kata-seed", "7").stdout


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0"}])
def test_plain_terminals(project: Project, env: dict[str, str]) -> None:
    project.solve("causal_mask", *REVERSED)
    done = project.pytest("katas/", **env)
    assert done.returncode == 1
    assert "reversed_mask" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b[" not in done.stdout


def test_where_there_is_no_fork(project: Project) -> None:
    project.solve("causal_mask", *REVERSED)
    project.solve("stable_softmax")
    done = project.pytest("katas/", KATA_WORKER="spawn")
    assert "reversed_mask" in done.stdout
    total = len(outline.names())
    assert f"1 of {total} passing · 1 failing · {total - 2} not started" in last_line(done)


def test_an_unreadable_kata_is_one_failure_and_a_missing_one_is_said(project: Project) -> None:
    (project.folder / "katas" / "causal_mask.py").unlink()
    (project.folder / "katas" / "split_heads.py").unlink()
    os.mkfifo(project.folder / "katas" / "split_heads.py")
    done = project.pytest("katas/")
    assert "katas/causal_mask.py is missing: git checkout katas/causal_mask.py" in done.stdout
    assert f"0 of {len(outline.names())} passing" in last_line(done)
    (project.folder / "katas" / "split_heads.py").unlink()
    (project.folder / "katas" / "split_heads.py").write_text("#" * (2 << 20))
    done = project.pytest("katas/")
    assert done.returncode == 1
    assert "katas/split_heads.py: is too large" in done.stdout
    assert done.stdout.count("FAILED katas/split_heads.py") == 1


def scratch_folders(folder: Path) -> list[Path]:
    """What runs with TMPDIR set to that folder have left there; the warm parent needs a moment to clean up."""
    for _ in range(50):
        left = list(folder.glob("kata-*"))
        if not left:
            return []
        time.sleep(0.1)
    return left


def test_no_process_and_no_folder_is_left_over(project: Project, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    project.solve("causal_mask")
    assert project.pytest("katas/", TMPDIR=str(temporary)).returncode == 0
    assert scratch_folders(temporary) == []
    assert project.pytest("katas/", "--no-such-option", TMPDIR=str(temporary)).returncode == 4
    assert scratch_folders(temporary) == []
    project.kata("causal_mask", "while True: pass\n")
    words = [sys.executable, "-m", "pytest", "katas/causal_mask.py"]
    running = subprocess.Popen(
        words, cwd=project.folder, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL
    )
    while len(started := descendants(running.pid)) < 3:  # the warm parent, a keeper, the worker
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert scratch_folders(temporary) == []
    end = time.monotonic() + 10
    while any(map(alive, started)) and time.monotonic() < end:  # the warm parent removes its folder, and then ends
        time.sleep(0.01)
    assert [pid for pid in started if alive(pid)] == []


def test_without_capture_or_timeout_plugins(project: Project) -> None:
    project.solve("causal_mask")
    for words in (("-p", "no:capture"), ("-p", "no:cacheprovider")):
        assert project.pytest("katas/causal_mask.py", *words).returncode == 0, words


def test_other_files_in_katas_are_left_alone(project: Project) -> None:
    project.kata("notes", "raise RuntimeError('imported')\n")
    done = project.pytest("katas/")
    assert done.returncode == 0
    assert "imported" not in done.stdout


def test_updates_come_with_autostash_when_stubs_are_filled_in(project: Project, tmp_path: Path) -> None:
    def git(*words: str, cwd: Path) -> None:
        words = ("-c", "user.name=a", "-c", "user.email=a@b", *words)
        subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, timeout=60)

    git("init", "-q", "-b", "main", cwd=project.folder)
    git("add", "-A", cwd=project.folder)
    git("commit", "-qm", "one", cwd=project.folder)
    git("clone", "-q", str(project.folder), str(tmp_path / "mine"), cwd=tmp_path)
    mine = tmp_path / "mine" / "katas" / "causal_mask.py"
    mine.write_text("my answer\n")
    (project.folder / "pyproject.toml").write_text((project.folder / "pyproject.toml").read_text() + "# new\n")
    git("commit", "-qam", "two", cwd=project.folder)
    git("pull", "-q", "--rebase", "--autostash", cwd=tmp_path / "mine")
    assert mine.read_text() == "my answer\n"
    assert "# new" in (tmp_path / "mine" / "pyproject.toml").read_text()
