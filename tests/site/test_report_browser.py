"""The page in a real browser: silent, self-contained, legible at two widths, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reportkit as kit
import studypagekit as studies
from cuesta.report import write, write_any

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
CONTRAST_MIN = 4.5
PAGES = ("comparison", "several", "hostile", "study", "scaling", "hostile study", "time lines")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# Texts of a chart that overlap, or extend beyond the column or the drawing.
MISPLACED_TEXT = """() => {
  const faults = [];
  for (const chart of document.querySelectorAll('svg.chart')) {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll('text')].map(
      (text) => ({words: text.textContent, box: text.getBoundingClientRect()}));
    for (const {words, box} of texts) {
      if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5) faults.push(words);
      if (box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) faults.push(words);
    }
    texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
      const width = Math.min(one.box.right, other.box.right)
        - Math.max(one.box.left, other.box.left);
      const height = Math.min(one.box.bottom, other.box.bottom)
        - Math.max(one.box.top, other.box.top);
      if (width > 0.5 && height > 2) faults.push(`${one.words} on ${other.words}`);
    }));
  }
  return faults;
}"""

# All visible texts with less contrast to their background than `least`, as [words, ratio].
FAINT_TEXT = """(least) => {
  const known = new Map();
  const channels = (colour) => {
    if (!known.has(colour)) known.set(colour, painted(colour));
    return known.get(colour);
  };
  const painted = (colour) => {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((value) => value / 255).map(
      (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (channels(colour)[3] === 255) return channels(colour);
    }
    return [255, 255, 255, 255];
  };
  const faults = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.textContent.trim();
    if (!words || element.closest('title, desc')) continue;
    const style = getComputedStyle(element);
    const front = channels(element.closest('svg') ? style.fill : style.color);
    const [light, dark] = [luminance(front), luminance(behind(element))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < least) faults.push([words, ratio]);
  }
  return faults;
}"""


@dataclass
class Opened:
    """A page, with all requests and messages it caused."""

    page: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


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
    assert opened.page.evaluate(FAINT_TEXT, CONTRAST_MIN) == []


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
