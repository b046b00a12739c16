"""A copy of the project for tests that edit katas, and a way to run commands in it as a person would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.outline import ROOT, names, stub


class Project:
    """A throwaway checkout: katas, solutions, harness and pyproject.toml."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignore = shutil.ignore_patterns("__pycache__", "tests", "bench")
        for name in ("solutions", "harness"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        (folder / "katas").mkdir()
        for name in names():  # pristine, whatever the person who runs this has filled in
            self.kata(name, stub(name))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def kata(self, name: str, source: str) -> Path:
        """Fill in a stub."""
        path = self.folder / "katas" / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        return path

    def solve(self, name: str, *patches: tuple[str, str]) -> Path:
        """Fill in a stub with the solution, with some words replaced."""
        source = (ROOT / "solutions" / f"{name}.py").read_text(encoding="utf-8")
        for old, new in patches:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return self.kata(name, source)

    def run(self, *words: str, cwd: str = ".", stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these words, from a folder of the project, with no terminal."""
        left_out = ("CI", "BUILD_NUMBER", "KATA_HOME")
        plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k not in left_out}
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.folder / cwd,
            env={**plain, "COLUMNS": "80", **env},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=110,
            check=False,
        )

    def pytest(self, *words: str, cwd: str = ".", stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """`pytest` with these words."""
        return self.run("-m", "pytest", *words, cwd=cwd, stdin=stdin, **env)
