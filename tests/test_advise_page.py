"""The page of an advice has all content of its text, with dates and sources of its prices."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from cuesta_lab.model.advise import SEVERAL, advise, caveats, costs, price_words, turns
from cuesta_lab.model.choices import Choice, Job, Range
from cuesta_lab.model.demands import demands
from cuesta_lab.model.machines import known
from cuesta_lab.report.advice import write

Advice = dict[str, Any]
"""Advice as `advise --json` prints it."""


def plain(page: str) -> str:
    """Return the words of a page without its style, separated by single spaces."""
    page = page.rpartition("</head>")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, str]:
    """Advice among all known machines, and its page."""
    folder = tmp_path_factory.mktemp("advice")
    advice = advise(Job(size_bytes=452e9, years=4), list(known().values()), demands("assemble"))
    return advice, write(advice, folder / "page.html").read_text("utf-8")


def possible(advice: Advice) -> list[dict[str, Any]]:
    return sorted(
        (option for option in advice["choices"] if option["seconds"]),
        key=lambda option: (option["caveat"] != "", float(option["seconds"]["value"])),
    )


def test_each_machine_has_its_price_with_day_and_source(advised: tuple[Advice, str]) -> None:
    """The page had no price, day or source of any machine, and no sentence of the text."""
    advice, page = advised
    text = plain(page)
    keys = {option["machine"] for option in possible(advice)}
    assert {bool(advice["machines"][key]["price"]) for key in keys} == {True, False}
    for key in keys:
        machine = advice["machines"][key]
        price = price_words(machine["price"])
        assert f"{machine['name']} {price[0].upper()}{price[1:]}." in text
        for note in (*machine["notes"], *machine["assumed"]):
            assert " ".join(note.split()) in text


def test_the_page_has_the_consequences_and_the_caveats_of_the_text(
    advised: tuple[Advice, str],
) -> None:
    advice, page = advised
    page_text = plain(page)
    assert SEVERAL in list(caveats(advice))
    assert list(turns(advice))
    assert list(costs(advice))
    for text in (*turns(advice), *caveats(advice)):
        assert text in page_text
    for name, text in costs(advice):
        assert f"COST on {name} {text[:1].upper()}{text[1:]}" in page_text
    assert (
        "Prices are of different days, 2015-06-17 to 2025-03-02, and none is adjusted" in page_text
    )


def test_choices_without_a_price_are_counted_and_listed(advised: tuple[Advice, str]) -> None:
    """A choice without a price was in no picture, and below the end of the table."""
    advice, page = advised
    unpriced = [option for option in possible(advice) if not option["dollars"]]
    name = advice["machines"][unpriced[0]["machine"]]["name"]
    fastest = f"{unpriced[0]['nodes']} x {name}, {unpriced[0]['engine']}, "
    line = f"{len(unpriced)} choices have no price and are not in this picture; the fastest of them"
    assert f"{line}: {fastest}" in plain(page)
    table = page[page.index("Without a price, the fastest choice of each machine") :]
    table = plain(table[: table.index("</table>")])
    for key in {option["machine"] for option in unpriced}:
        assert advice["machines"][key]["name"] in table


def test_what_cannot_be_is_folded_with_its_reason(advised: tuple[Advice, str]) -> None:
    advice, page = advised
    refused = [option for option in advice["choices"] if option["refused"]]
    assert refused
    fold = page[page.index(f"<summary>{len(refused)}") :]
    fold = plain(fold[: fold.index("</details>")])
    for option in refused:
        name = advice["machines"][option["machine"]]["name"]
        assert f"{option['nodes']} x {name} " in fold
        assert option["refused"] in fold


def test_machines_have_the_same_names_as_in_the_sentences(advised: tuple[Advice, str]) -> None:
    advice, page = advised
    text = plain(page)
    for key, machine in advice["machines"].items():
        if key != machine["name"].lower():
            assert key not in text


def test_a_machine_without_a_price_is_drawn_by_time_alone(tmp_path: Path) -> None:
    job, theta = Job(size_bytes=452e9, years=4), known()["theta"]
    page = write(advise(job, [theta], demands("assemble")), tmp_path / "page.html").read_text()
    text = plain(page)
    assert page.count('<svg class="chart') == 1
    assert "Too few choices have a price to draw time by price." in text
    assert "Theta No price." in text
    assert "not in this picture" not in text
    assert "dollars" not in text


def test_no_line_ends_within_a_time(advised: tuple[Advice, str]) -> None:
    advice, page = advised
    assert all(re.search(r"\d (min|h|s|\$)", ranked["words"]) for ranked in advice["best"])
    lead = re.search(r'<div class="lead">.*?</div>', page, re.DOTALL)
    assert lead
    assert not re.search(r"\d (min|h|s|%|\$)\b", lead[0])
    assert not re.search(r"(h|min) \d\d", lead[0])


def choice_record(machine: str, seconds: float, **more: Any) -> dict[str, Any]:
    interval = Range(value=seconds, low=seconds / 2, high=2 * seconds)
    bare = Choice(machine=machine, engine="mpi", nodes=1, cores=4, seconds=interval, **more)
    return {**vars(bare), "seconds": vars(interval)}


def test_measured_settings_have_no_price_and_no_column_for_it(tmp_path: Path) -> None:
    choices = [choice_record("4 cores", 10.0), choice_record("4 cores, 1 GiB", 12.0)]
    choices += [
        choice_record("2 cores", 0.0) | {"seconds": None, "refused": "its largest run had 1 GB"}
    ]
    best = [{"title": "fastest", "choice": choices[0], "words": "mpi with 4 cores: 10 s"}]
    advice = {"workload": "sort", "size_bytes": 2e9, "years": 4.0, "choices": choices}
    advice |= {
        "by": "",
        "best": best,
        "turns": None,
        "scale_out": [],
        "left_out": [],
        "machines": {},
        "demands": [],
    }
    page = write(advice, tmp_path / "page.html").read_text("utf-8")
    text = plain(page)
    assert page.count('<svg class="chart') == 1
    assert "Settings that were run here have no price." in text
    assert "2 cores mpi: its largest run had 1 GB" in text
    assert "dollars" not in text
    assert "Prices and machines" not in text
