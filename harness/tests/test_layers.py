"""The architecture, enforced: a module imports only from rows below its own, and each rule of who may do what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.outline import ROOT

ROWS = (
    {
        "stubs",
        "source",
        "linux",
        "ending",
        "prints",
        "beside",
        "audit",
        "model",
        "wire",
        "markup",
        "clock",
        "tracing",
        "sidebyside",
        "meter",
        "arguments",
        "outputs",
        "mutation",
    },
    {
        "forge",
        "walls",
        "kata",
        "outline",
        "line",
        "calls",
        "grids",
        "answers",
        "probe",
        "margins",
        "influence",
        "worker",
        "report",
        "wording",
    },
    {"cage"},
    {"collect", "tally", "serve", "replay", "judge", "expect", "history", "symptoms", "clarify", "families"},
    {"formats", "export", "moves", "attempts", "schedule", "interview", "hints", "likeness", "pictures", "agreement"},
    {"causal"},
    {"checks", "svg"},
    {"registry", "matching"},
    {"diagnose", "examples", "recorder", "stagewords"},
    {"grade", "plant", "course", "timing", "sizes"},
    {"stages", "batch"},
    {"practice", "room", "craft", "gallery"},
    {"mock", "debrief", "scorecard", "compare"},
    {"portfolio", "page", "inside", "lines", "template"},
    {"proof", "mutate"},
    {"classpage"},
    {"plugin", "cli"},
    {"__main__"},
)
ROW = {name: number for number, names in enumerate(ROWS) for name in names}
MODULES = sorted(p for p in (ROOT / "harness").rglob("*.py") if not {"tests", "bench"} & set(p.parts))


def unit(path: Path) -> str:
    """The name of the module, or of the package that it belongs to."""
    return path.relative_to(ROOT / "harness").with_suffix("").parts[0]


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT / "harness")))
def test_a_module_imports_only_from_rows_below(path: Path) -> None:
    me = unit(path)
    if me == "__init__":
        return
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("harness.")}
    above = {name for name in ours - {me} if ROW[name] >= ROW[me]}
    assert above == set()


def test_who_may_do_what() -> None:
    for path in MODULES:
        names, me = set(imported(path)), unit(path)
        roots = {name.split(".")[0] for name in names}
        assert "solutions" not in roots
        assert not roots & {"pickle", "marshal", "dill"}
        assert me == "plugin" or not roots & {"pytest", "pytest_timeout"}
        assert me == "registry" or not any(name.startswith("harness.checks") for name in names)
        prints = "print(" in path.read_text(encoding="utf-8")
        assert me in {"cli", "plugin", "replay"} or not prints, path


def test_an_untouched_run_needs_the_standard_library_alone() -> None:
    light = [ROOT / "harness" / name for name in ("outline.py", "stubs.py", "source.py", "forge.py")]
    heavy = {"numpy", "harness.wire", "harness.model", "harness.grade", "harness.judge", "harness.report"}
    for path in [*light, *(ROOT / "harness" / "plugin").glob("[!r]*.py")]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) not in heavy


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT / "harness")))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= (350 if unit(path) == "checks" else 250)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 40, node.name
