"""What `pytest katas/` costs, as ratios of wall time in one run: `python harness/bench/pytest_cost.py [rounds]`.

solved      all katas solved, against as many empty tests in a file that imports NumPy
untouched   all katas untouched, against one empty test in a file that imports NumPy
naming      seconds that recognition adds, for every catalogued mistake of pre_ln_block alone, and for drawn pairs
calls       remote calls of all katas together
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness import outline, registry
from harness.diagnose import diagnose
from harness.grade import Grading
from harness.judge import Judge
from harness.tests.project import Project


def wall(project: Project, target: str) -> float:
    """Seconds of one `pytest -q TARGET`."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "pytest", "-q", target]
    subprocess.run(words, cwd=project.folder, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, check=True)
    return time.perf_counter() - start


def ratio(name: str, project: Project, target: str, base: str, rounds: int) -> None:
    """Print the median of interleaved pairs, after one uncounted pair."""
    pairs = [(wall(project, target), wall(project, base)) for _ in range(rounds + 1)][1:]
    ratios = sorted(a / b for a, b in pairs)
    seconds = statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
    print(
        f"{name}: {statistics.median(ratios):.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f}; "
        f"medians {seconds[0]:.2f} s and {seconds[1]:.2f} s, {rounds} pairs)"
    )


def naming(judge: Judge, forms: list[tuple[tuple[str, str], ...]], label: str, folder: Path) -> None:
    """Print how long recognition takes once the checks have run."""
    seconds, path = [], folder / "pre_ln_block.py"
    for form in forms:
        path.write_text(registry.solution(path.stem).patched(form), encoding="utf-8")
        grading = Grading(judge, path.stem, path, path.read_bytes(), 0)
        outcomes, records = grading.run_all(), grading.records
        start = time.perf_counter()
        diagnose(grading.kata, outcomes, records)
        seconds.append(time.perf_counter() - start)
        grading.close()
    middle, tried = statistics.median(seconds), len(seconds)
    print(f"naming {label}: median {middle:.3f} s, worst {max(seconds):.3f} s ({tried} tried)")


def main() -> None:
    """Measure everything."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder, "clone"))
        total = sum(len(outline.outline(name).checks) for name in outline.names())
        for name, count in (("many", total), ("one", 1)):
            tests = "".join(f"\n\ndef test_{n}():\n    pass\n" for n in range(count))
            (project.folder / f"test_{name}.py").write_text(f"import numpy\n{tests}")
        ratio("untouched", project, "katas/", "test_one.py", rounds)
        for name in outline.names():
            project.solve(name)
        ratio(f"solved ({total} checks)", project, "katas/", "test_many.py", rounds)
        with Judge() as judge:
            calls = 0
            for name in outline.names():
                path = project.folder / "katas" / f"{name}.py"
                grading = Grading(judge, name, path, path.read_bytes(), 0)
                grading.run_all()
                calls += len(grading.records)
                grading.close()
            print(f"calls: {calls}")
            entries = registry.kata("pre_ln_block").mistakes
            naming(judge, [m.forms[0] for m in entries], "one mistake", Path(folder))
            solution, draw = registry.solution("pre_ln_block"), random.Random(0)
            pairs = [
                (*a.forms[0], *b.forms[0])
                for a, b in itertools.combinations([m for m in entries if m.level == "core"], 2)
                if not solution.places(a.forms[0]) & solution.places(b.forms[0])
            ]
            naming(judge, draw.sample(pairs, min(20, len(pairs))), "a pair", Path(folder))


if __name__ == "__main__":
    main()
