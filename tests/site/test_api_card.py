"""The card of an answer in a notebook: legible on light and on dark, without side effects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reportkit as kit
from browserkit import CONTRAST_MIN, FAINT_TEXT, MISPLACED_TEXT, NEEDS_CHROMIUM, browser
from cuesta.report.card import assessment_card, card
from cuesta.report.records import Fields

__all__ = ["browser"]

pytestmark = NEEDS_CHROMIUM

GROUNDS = {"light": ("#ffffff", "#1f1f1f"), "dark": ("#111111", "#e0e0e0")}
"""Background and text colours of JupyterLab's themes."""

BYTES_MAX = 40_000


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("cards")
    wrong = kit.native(1, verified=False, seed=7)
    records = {
        "degrees": kit.degrees(),
        "communities": kit.communities(),
        "assembly": kit.assembly(),
        "wrong": wrong,
        "hostile": kit.hostile(),
    }
    markups = {name: card(kit.write_run(root / name, record)) for name, record in records.items()}
    engines = [kit.native(), kit.spark(), kit.array()]
    return markups | {"comparison": card(kit.write_comparison(root / "scan", engines))}


@pytest.fixture(
    scope="module", params=[(ground, width) for ground in GROUNDS for width in (400, 900)]
)
def page(request: pytest.FixtureRequest, browser: Any, cards: dict[str, str]) -> Iterator[Any]:
    """All cards in the output of a notebook, one below the other, unfolded."""
    scheme, width = request.param
    back, front = GROUNDS[scheme]
    page = browser.new_page(viewport={"width": width, "height": 900})
    outputs = "".join(f'<div class="output">{markup}</div>' for markup in cards.values())
    page.set_content(
        f"<body style='margin: 0; background: {back}; color: {front}; font-family: sans-serif'>"
        f"<p id='beside'>beside</p>{outputs}</body>"
    )
    for fold in page.query_selector_all("details"):
        fold.evaluate("fold => { fold.open = true }")
    page.ground = back
    yield page
    page.close()


def test_each_text_has_enough_contrast_to_the_page_around_it(page: Any) -> None:
    assert page.evaluate(FAINT_TEXT, [CONTRAST_MIN, page.ground]) == []


def test_nothing_sticks_out_and_no_text_of_a_chart_overlaps_another(page: Any) -> None:
    width = page.evaluate("document.documentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('svg.chart').length") > 3
    assert page.evaluate(MISPLACED_TEXT) == []


def test_the_style_of_a_card_touches_nothing_outside_it(cards: dict[str, str]) -> None:
    for text in cards.values():
        style = text.partition("<style>")[2].partition("</style>")[0]
        plain = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
        selectors = [
            selector for rule in re.findall(r"([^{}]+)\{", plain) for selector in rule.split(",")
        ]
        assert selectors
        assert all(selector.strip().startswith(".cuesta") for selector in selectors)


def test_a_card_shows_what_counts_and_is_small(cards: dict[str, str]) -> None:
    assert all(len(text.encode()) < BYTES_MAX for text in cards.values())
    assert "Which genes of" in cards["communities"]
    assert "verified by another method" in cards["communities"]
    assert "Do not trust this yet" in cards["wrong"]
    assert "equal digests" in cards["comparison"]
    assert "spark" in cards["comparison"]


def test_markup_in_a_record_remains_text(page: Any) -> None:
    assert page.evaluate("document.querySelectorAll('script, img, iframe, b.evil').length") == 0
    assert kit.MARKUP in page.inner_text("body")


def test_an_assessment_has_a_card_of_its_measures(tmp_path: Path) -> None:
    fields: Fields = {
        "min_contig": 500,
        "reads": {"k": 21, "min_count": 3, "completeness": 0.999, "solid": 1000, "quality": 50.0},
    }
    text = assessment_card(fields)
    assert "How good is the assembly?" in text
    assert "completeness" in text
