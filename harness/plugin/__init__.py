"""The pytest plugin: `pytest katas/` runs the hidden checks. Loaded by pyproject.toml, installed or not.

This file is imported by every pytest run, so it imports next to nothing: the rest comes with the first kata file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness import stubs
from harness.forge import ROOT, Forge

KATAS = ROOT / "katas"
SEED = 0
FORGE = pytest.StashKey[Forge]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seed of the checks' inputs."""
    group = parser.getgroup("katas")
    group.addoption("--kata-seed", type=int, default=SEED, help=f"seed of the katas' drawn inputs (default {SEED})")


def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Start the warm parent now when a kata will run: it imports NumPy while pytest starts."""
    options = early_config.known_args_namespace
    if options.collectonly or options.help or options.version:
        return
    chosen = _chosen(options.file_or_dir or [os.curdir])
    if any(_touched(path) for path in chosen):
        early_config.stash[FORGE] = Forge(live=options.capture == "no")


def _chosen(words: Sequence[str]) -> list[Path]:
    """The kata files that the words of a command line lead to, by a first look."""
    paths = [Path(word.split("::")[0]).resolve() for word in words]
    if Path.cwd() == ROOT and words == [os.curdir]:
        return []  # `pytest` alone runs the kit's own tests
    return [file for file in sorted(KATAS.glob("*.py")) if any(p in (file, *file.parents) for p in paths)]


def _touched(path: Path) -> bool:
    """Whether a kata file has changed, by a first look: the worker is started later where this is mistaken."""
    with contextlib.suppress(OSError, ValueError, SyntaxError):
        source, solution = path.read_bytes(), (ROOT / "solutions" / path.name).read_text(encoding="utf-8")
        return source != stubs.derive(solution, stubs.functions(source)).encode()
    return False


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give --pdb of a kata to the person's code."""
    original = config.pluginmanager.get_plugin("pdbinvoke")
    if original is not None:
        from harness.plugin.items import KataPdb

        config.pluginmanager.unregister(original)
        config.pluginmanager.register(KataPdb(original), "pdbinvoke")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Every Python file in katas/ is a kata: it is read, never imported."""
    if module_path.parent != KATAS:
        return None
    from harness.plugin.items import KataFile

    return KataFile.from_parent(parent, path=module_path)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers, also when no kata was collected."""
    forge = config.stash.get(FORGE, None)
    if forge is not None:
        forge.close()
