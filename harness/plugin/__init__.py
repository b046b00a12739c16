"""The pytest plugin: `pytest katas/` runs the hidden checks. Loaded by pyproject.toml, installed or not.

Every pytest run imports this file, so it imports next to nothing: `items` comes with the first kata file, and `run`,
with NumPy and the judge, with the first kata that is not its stub any more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness import outline
from harness.forge import Forge
from harness.source import Unreadable, read

FORGE = pytest.StashKey[Forge]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seed of the checks' inputs."""
    group = parser.getgroup("katas")
    group.addoption("--kata-seed", type=int, default=0, metavar="N", help="seed of the katas' drawn inputs (default 0)")


def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Start the warm parent now when a kata will run: it imports NumPy while pytest starts."""
    options = early_config.known_args_namespace
    if options.collectonly or options.help or options.version:
        return
    if any(_started(path) for path in chosen(options.file_or_dir)):
        early_config.stash[FORGE] = Forge(live=getattr(options, "capture", "no") == "no")


def chosen(words: Sequence[str]) -> list[Path]:
    """The kata files that a command line's words lead to, by a first look."""
    if not words and Path.cwd() == outline.ROOT:
        return []  # `pytest` alone runs the kit's own tests
    paths = [Path(word.split("::")[0]).resolve() for word in words or [os.curdir]]
    files = [outline.KATAS / f"{name}.py" for name in outline.names()]
    return [file for file in files if any(path in (file, *file.parents) for path in paths)]


def _started(path: Path) -> bool:
    with contextlib.suppress(Unreadable):
        return not outline.untouched(path.stem, read(path))
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
    if module_path.parent != outline.KATAS:
        return None
    from harness.plugin.items import KataFile

    return KataFile.from_parent(parent, path=module_path)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers."""
    forge = config.stash.get(FORGE, None)
    if forge is not None:
        forge.close()
