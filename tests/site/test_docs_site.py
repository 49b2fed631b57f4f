"""The site is built without a warning, with search and man pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import docsite
from browserkit import CONTRAST_MIN, FAINT_TEXT, NEEDS_CHROMIUM, browser
from cuesta.cli.commands import COMMANDS

__all__ = ["browser"]

pytestmark = pytest.mark.timeout(1800)
"""The site takes a minute to build on a quiet machine, and many on one that is shared."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert docsite.build(folder) >= docsite.LINKS_MIN
    return folder


def test_the_front_page_has_a_command_for_each_of_five_people(site: Path) -> None:
    text = (site / "html" / "index.html").read_text()
    assert text.count('class="person docutils container"') == 5
    assert (site / "html" / "searchindex.js").stat().st_size > 100_000


def test_options_keep_their_dashes_and_calls_their_quotes(site: Path) -> None:
    """Sphinx made typographic dashes of the two of an option.

    A default said `as -threads` with one long dash, which no shell takes when it is copied; quotes
    of calls were curly. Its typographic replacements are off now.
    """
    pages = [*(site / "html" / "docs" / "reference").rglob("*.html")]
    assert len(pages) > 10
    typographic = re.compile(r"[\u2013\u2014][a-z]|[\u201c\u201d]")
    assert [page.name for page in pages if typographic.search(page.read_text())] == []


@NEEDS_CHROMIUM
def test_no_page_is_wider_than_a_phone(site: Path, browser: Any) -> None:
    for name in ("index", "docs/install", "docs/reference/commands/run", "docs/stability"):
        page = browser.new_page(viewport={"width": 400, "height": 850})
        page.goto((site / "html" / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 400, name
        page.close()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_front_page_is_a_screen_that_can_be_read(site: Path, browser: Any, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    page.goto((site / "html" / "index.html").as_uri())
    cards = page.locator("div.person")
    boxes = [cards.nth(index).bounding_box() for index in range(cards.count())]
    assert len(boxes) == 5
    assert max(box["y"] + box["height"] for box in boxes) < 1000
    inset = "(card) => parseFloat(getComputedStyle(card).paddingLeft)"
    assert all(cards.nth(index).evaluate(inset) >= 8 for index in range(5))
    faint = page.locator("div.people").evaluate(f"() => ({FAINT_TEXT})([{CONTRAST_MIN}, null])")
    assert faint == []
    page.close()


def test_each_command_has_a_man_page(site: Path) -> None:
    pages = {page.name for page in (site / "man").glob("*.1")}
    assert pages == {f"cuesta-{name}.1" for name in COMMANDS}


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_reads_its_pages_without_a_complaint(site: Path) -> None:
    page = site / "man" / "cuesta-run.1"
    words = ["man", "--warnings", "-l", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    # Words of a cell that is narrower than they are cannot be spread over its line.
    is_of_width = re.compile("can(not|'t) (adjust|break) line$").search
    assert [line for line in done.stderr.splitlines() if not is_of_width(line)] == []
    assert "--memory" in done.stdout
