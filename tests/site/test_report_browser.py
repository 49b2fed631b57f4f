"""The page in a real browser: silent, self-contained, legible at two widths, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reportkit as kit
import studypagekit as studies
from browserkit import CONTRAST_MIN, FAINT_TEXT, MISPLACED_TEXT, NEEDS_CHROMIUM, browser
from cuesta.report import write, write_any

__all__ = ["browser"]

WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
PAGES = ("comparison", "several", "hostile", "study", "scaling", "hostile study", "time lines")

pytestmark = NEEDS_CHROMIUM


@dataclass
class Opened:
    """A page, with all requests and messages it caused."""

    page: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by name: an ordinary comparison, a page with all parts, and a page of hostile texts."""
    root = tmp_path_factory.mktemp("reports")
    compared = kit.write_comparison(root / "scan", [kit.native(), kit.spark(), kit.array()])
    degrees = kit.write_run(root / "degrees", kit.degrees())
    communities = kit.write_run(root / "communities", kit.communities())
    assembly = kit.write_run(root / "assembly", kit.assembly())
    wrong = kit.native(1, verified=False, seed=7)
    wrong["parameters"]["min_abs_score"] = 0.5
    doubted = kit.write_run(root / "doubted", wrong)
    hostile = kit.write_run(root / "hostile", kit.hostile())
    pages = {
        "comparison": [compared],
        "several": [compared, degrees, communities, assembly, doubted],
        "hostile": [hostile],
    }
    pages_made = {name: write(paths, root / f"{name}.html") for name, paths in pages.items()}
    results = {
        "study": studies.loading(alarms=[studies.SPOILED]),
        "scaling": studies.scaling("weak"),
        "hostile study": studies.hostile(),
    }
    for name, result in results.items():
        pages_made[name] = write_any([studies.write(root / name, result)], root / f"{name}.html")
    lines = studies.timelines(root / "time lines", 7)
    pages_made["time lines"] = write_any([lines], root / "time lines.html")
    return pages_made


@pytest.fixture(scope="module", params=PAGES)
def path(request: pytest.FixtureRequest, reports: dict[str, Path]) -> Path:
    return reports[request.param]


@pytest.fixture(scope="module", params=WIDTHS)
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module", params=SCHEMES)
def opened(
    request: pytest.FixtureRequest, browser: Any, path: Path, width: int
) -> Iterator[Opened]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=request.param
    )
    tab = Opened(page=context.new_page())
    tab.page.on("request", lambda event: tab.requests.append(event.url))
    tab.page.on("console", lambda event: tab.messages.append(event.text))
    tab.page.on("pageerror", lambda event: tab.messages.append(str(event)))
    tab.page.goto(path.as_uri())
    for fold in tab.page.query_selector_all("details"):
        fold.evaluate("fold => { fold.open = true }")
    yield tab
    context.close()


def test_the_page_sends_nothing_to_the_network_and_nothing_to_the_console(
    opened: Opened, path: Path
) -> None:
    assert opened.requests == [path.as_uri()]
    assert opened.messages == []


def test_nothing_makes_the_page_scroll_sideways(opened: Opened, width: int) -> None:
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert opened.page.evaluate("document.body.scrollWidth") <= width


def test_no_text_of_a_chart_is_clipped_or_overlaps_another(opened: Opened) -> None:
    assert opened.page.evaluate("document.querySelectorAll('svg.chart').length") > 0
    assert opened.page.evaluate(MISPLACED_TEXT) == []


def test_each_text_has_enough_contrast(opened: Opened) -> None:
    assert opened.page.evaluate(FAINT_TEXT, [CONTRAST_MIN, None]) == []


def test_dark_mode_is_dark_and_light_mode_is_light(browser: Any, reports: dict[str, Path]) -> None:
    colours = {}
    for scheme in SCHEMES:
        page = browser.new_page(color_scheme=scheme)
        page.goto(reports["comparison"].as_uri())
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.close()
    brightness = {
        scheme: sum(int(part) for part in colour[4:-1].split(","))
        for scheme, colour in colours.items()
    }
    assert brightness["dark"] < 150
    assert brightness["light"] > 700


def test_on_paper_folded_tables_are_open_and_nothing_is_cut_off(
    browser: Any, reports: dict[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    page.goto(reports["several"].as_uri())
    heights = page.evaluate(
        "[...document.querySelectorAll('details table, details dl')].map(e => e.offsetHeight)"
    )
    overflow = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert heights
    assert all(height > 20 for height in heights)
    assert overflow <= 720


def test_a_contents_line_leads_to_its_section(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(reports["several"].as_uri())
    page.click("nav li:nth-child(3) a")
    top = page.evaluate("document.querySelector('#q3').getBoundingClientRect().top")
    page.close()
    assert abs(top) < 50


def test_markup_in_a_record_remains_text(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(reports["hostile"].as_uri())
    strangers = page.evaluate("document.querySelectorAll('script, img, iframe, b.evil').length")
    text = page.inner_text("body")
    page.close()
    assert strangers == 0
    assert kit.MARKUP in text
