"""The table of the README has the figures of the stored results."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness import headlines, results

ROOT = Path(__file__).resolve().parents[1]
HEADLINES = ROOT / "bench" / "headlines.toml"


def records(*bars: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"bench": "scan", "cases": [{"name": "all", "bars": list(bars)}]}]


def bar_row(figure: float | None, met: bool | None = None, peer: str = "peer") -> dict[str, Any]:
    return {"ours": "us", "theirs": peer, "figure": figure, "met": met, "at_least": 2.0}


def rows(bars: list[dict[str, Any]], *figures: list[str], fraction: bool = False) -> list[str]:
    row = {"job": "scan", "beside": "peer", "figures": figures}
    headings = {"part": [{"title": "part", "fraction": fraction, "row": [row]}]}
    return [*headlines.table(headings, bars)][-1:]


def test_the_table_of_the_readme_is_that_of_the_results(tmp_path: Path) -> None:
    """After a bench, `bench/run.py --tables` rewrites it; so does the bench itself."""
    readme = tmp_path / "README.md"
    shutil.copy(ROOT / "README.md", readme)
    headlines.rewrite(readme, HEADLINES, results.read_all(ROOT / "bench" / "results"))
    assert readme.read_text() == (ROOT / "README.md").read_text()


def test_each_figure_of_the_table_has_a_bar() -> None:
    recorded = results.read_all(ROOT / "bench" / "results")
    for part in tomllib.loads(HEADLINES.read_text())["part"]:
        for row in part["row"]:
            assert [words for words in row["figures"] if not headlines.bar(recorded, words)] == []


@pytest.mark.parametrize(
    ("bar", "cell"),
    [
        (bar_row(6.873), "6.9"),
        (bar_row(1.0467, met=True), "1.05"),
        (bar_row(1.0467, met=False), "**1.05** (aim 2)"),
        (bar_row(0.8156), "**0.82**"),
        (bar_row(187.6), "190"),
        (bar_row(None), "not measured"),
    ],
)
def test_what_is_slower_or_below_its_aim_is_bold(bar: dict[str, Any], cell: str) -> None:
    assert rows(records(bar), ["scan", "all", "peer"]) == [f"| scan | peer | {cell} |"]


def test_a_fraction_of_a_ceiling_is_bold_where_it_misses_its_aim_alone() -> None:
    ceiling, both = ["scan", "all", "peer"], records(bar_row(0.81), bar_row(0.4, False, "other"))
    lines = rows(both, ceiling, ["scan", "all", "other"], fraction=True)
    assert lines == ["| scan | peer | 0.81 and **0.40** (aim 2) |"]


def test_our_name_distinguishes_bars_against_the_same_peer() -> None:
    both = records(bar_row(3.0), {**bar_row(5.0), "ours": "us on mpi"})
    assert rows(both, ["scan", "all", "peer", "us on mpi"]) == ["| scan | peer | 5.0 |"]
    assert rows(both, ["scan", "none", "peer"]) == ["| scan | peer | not measured |"]


def test_missed_aims_are_counted() -> None:
    text = headlines.missed(records(bar_row(3.0, True), bar_row(1.0, False), bar_row(0.5)))
    assert text.startswith("Of the 2 aims of all benches 1 are missed")
