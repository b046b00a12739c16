"""The report in a real browser: Debian's Chromium, headless, where it and playwright are installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.page.style import DARK, LIGHT
from harness.tests.play import play
from harness.tests.project import Project
from harness.tests.test_page import HOSTILE, REVERSED, hostile_evening

playwright: Any = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("the browser tests need chromium", allow_module_level=True)
PHONE, SCREEN = 400, 1280
THEMES = {"light": LIGHT, "dark": DARK}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a lively report.html, one.html, and hostile.html."""
    project = Project(tmp_path_factory.mktemp("report") / "clone")
    project.solve("pre_ln_block", REVERSED)
    project.solve("stable_softmax")
    project.solve("causal_mask")
    steps = [["wait", 30], "does a position see itself?", "quit", "the docs", "3", "", ""]
    commands: list[tuple[str, list[Any]]] = [("report --out report.html", []), ("debrief --html one.html", [])]
    done = play(project, ("mock causal_mask --seed 1", steps), *commands)
    assert [one.status for one in done] == [0, 0, 0]
    done = play(project, *hostile_evening(project), ("report --out hostile.html", []))
    assert done[-1].status == 0
    return project.folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if root else [])
        yield started
        started.close()


class Tab:
    """An open page, and whatever went wrong in it."""

    def __init__(self, browser: Any, path: Path, width: int = SCREEN, theme: str = "light") -> None:
        self.troubles: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        self.page.on("console", lambda message: self.troubles.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        self.page.on("requestfailed", lambda request: self.troubles.append(f"failed: {request.url}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.asked: list[str] = []
        self.page.goto(path.as_uri())

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def js(self, expression: str) -> Any:
        return self.page.evaluate(expression)


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[n : n + 2], 16)) for n in (1, 3, 5))})"


@pytest.mark.parametrize("name", ["report", "one", "hostile"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_it_renders_without_an_error_a_request_or_an_overflow(
    browser: Any, folder: Path, name: str, theme: str, width: int
) -> None:
    tab = Tab(browser, folder / f"{name}.html", width, theme)
    for opened in (False, True):
        tab.js(f"document.querySelectorAll('details').forEach(d => d.open = {str(opened).lower()})")
        assert tab.js("document.documentElement.scrollWidth") == width
        wide = """[...document.querySelectorAll('body *:not(.skip):not(.skip *)')].filter(e =>
            !e.closest('pre') && !e.closest('thead') && e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => e.tagName + '.' + e.className)"""
        assert tab.js(wide) == []
    assert tab.asked == [(folder / f"{name}.html").as_uri()]
    assert tab.troubles == []
    levels = tab.js("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_cells_of_a_heat_map_have_their_colours_and_labels(browser: Any, folder: Path, theme: str) -> None:
    colours = THEMES[theme]
    tab = Tab(browser, folder / "report.html", theme=theme)
    drawing = "document.getElementById('pre_ln_block-0-right-t').closest('svg')"
    cells = tab.js(f"""[...{drawing}.querySelectorAll('g')].map(g => ({{
        words: g.querySelector('title').textContent,
        shown: g.querySelector('text').textContent,
        fill: getComputedStyle(g.querySelector('rect')).fill,
        ink: getComputedStyle(g.querySelector('text')).fill}}))""")
    assert len(cells) == 16
    first, ahead = cells[:2]
    assert (first["words"], first["shown"]) == ("query 0, key 0: 1", "1")
    assert (first["fill"], first["ink"]) == (rgb(colours["h8"]), rgb(colours["on"]))
    assert (ahead["words"], ahead["shown"]) == ("query 0, key 1: 0", "0")
    assert (ahead["fill"], ahead["ink"]) == (rgb(colours["h0"]), rgb(colours["off"]))
    marked = tab.js("""(() => { const cell = document.querySelector('.wrong.first'), style = getComputedStyle(cell);
        return [style.stroke, style.strokeDasharray, cell.parentElement.querySelector('title').textContent] })()""")
    assert marked[:2] == [rgb(colours["wrong"]), "none"]
    assert marked[2].startswith("query 0, key 1: ") and marked[2].endswith(", should be: 0")
    assert tab.js("getComputedStyle(document.body).backgroundColor") == rgb(colours["bg"])


def test_the_code_stands_in_two_columns_that_stack_on_a_phone(browser: Any, folder: Path) -> None:
    for width, beside in ((SCREEN, True), (PHONE, False)):
        tab = Tab(browser, folder / "report.html", width)
        tab.js("document.querySelectorAll('details').forEach(d => d.open = true)")
        boxes = "[...document.querySelectorAll('#kata-pre_ln_block .code > div')].map(d => d.getBoundingClientRect())"
        tops = tab.js(f"{boxes}.slice(0, 2).map(box => box.top)")
        assert (tops[0] == tops[1]) == beside


def test_every_fold_opens_by_the_keyboard_and_the_first_stop_skips_the_links(browser: Any, folder: Path) -> None:
    tab = Tab(browser, folder / "report.html")
    tab.page.keyboard.press("Tab")
    assert tab.js("document.activeElement.textContent") == "Skip to the report"
    assert tab.js("document.activeElement.getBoundingClientRect().left") > 0
    folds, stops = tab.js("document.querySelectorAll('details').length"), 0
    for _ in range(1000):  # opening one brings further stops
        tab.page.keyboard.press("Tab")
        where = tab.js("document.activeElement.tagName")
        if where == "BODY":
            break
        if where == "SUMMARY":
            tab.page.keyboard.press("Enter")
            stops += 1
    assert folds > 5
    assert stops == folds
    assert tab.js("document.querySelectorAll('details[open]').length") == folds


def test_hostile_words_are_shown_and_do_nothing(browser: Any, folder: Path) -> None:
    tab = Tab(browser, folder / "hostile.html")
    assert tab.js("document.querySelectorAll('script,img,iframe,object,link,form,[onerror],[onclick]').length") == 0
    assert tab.js("document.querySelectorAll('style').length") == 1
    text = tab.js("document.body.textContent")
    assert text.count("<script>alert(1)</script>") > 5
    assert HOSTILE.split(" ")[-1] in text
    assert "more characters]" in text
    tab.js("(() => { const s = document.createElement('script'); s.textContent = 'window.harm = 1';"
           " document.body.append(s) })()")  # fmt: skip
    assert tab.js("window.harm === undefined")  # even if something came through, the page forbids it to run


def test_paper_is_light_and_leaves_the_links_out(browser: Any, folder: Path) -> None:
    tab = Tab(browser, folder / "report.html", theme="dark")
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert tab.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.js("getComputedStyle(document.querySelector('h1')).color") == rgb(LIGHT["fg"])
    assert tab.js("getComputedStyle(document.querySelector('nav')).display") == "none"
