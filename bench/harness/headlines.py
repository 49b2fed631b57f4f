"""The table of `README.md`: the rows of `headlines.toml` with the figures of the results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.results import Json
from harness.table import between, row

NOT_MEASURED = "not measured"
SLOWER = 1.0
"""Ratio below which a figure is bold, unless it is a fraction of a ceiling."""


def rewrite(readme: Path, headlines: Path, records: Sequence[Json]) -> None:
    """Put the table between the markers of `readme`."""
    wanted = tomllib.loads(headlines.read_text())
    between(readme, "\n".join([*table(wanted, records), "", missed(records), ""]))


def table(wanted: Json, records: Sequence[Json]) -> Iterator[str]:
    """The rows of all parts; a part begins with its title."""
    yield "| job | beside | times as fast |"
    yield "|---|---|---|"
    for part in wanted["part"]:
        yield row([f"***{part['title']}***", "", ""])
        for entry in part["row"]:
            figures = [_figure(bar(records, words), part) for words in entry["figures"]]
            yield row([entry["job"], entry["beside"], " and ".join(figures)])


def missed(records: Sequence[Json]) -> str:
    """Sentence with the number of missed bars of all benches, and their place."""
    bars = [each for record in records for case in record["cases"] for each in case["bars"]]
    judged = [each for each in bars if each["met"] is not None]
    count = sum(not each["met"] for each in judged)
    return (
        f"Of the {len(judged)} aims of all benches {count} are missed: the rows with **missed**"
        " in\n[bench/README.md](bench/README.md)."
    )


def bar(records: Sequence[Json], words: Sequence[str]) -> Json | None:
    """The bar of a bench, a case and two contestants; None where there is none."""
    bench, name, peer, *ours = words
    return next(
        (
            row
            for record in records
            if record["bench"] == bench
            for case in record["cases"]
            if case["name"] == name
            for row in case["bars"]
            if row.get("theirs") == peer and row["ours"] in (ours or [row["ours"]])
        ),
        None,
    )


def _figure(ratio: Json | None, part: Json) -> str:
    """Two digits, bold where we are slower or below the aim, which follows."""
    if ratio is None or ratio["figure"] is None:
        return NOT_MEASURED
    figure: float = ratio["figure"]
    text = short(figure)
    if ratio["met"] is False:
        return f"**{text}** (aim {ratio['at_least']:.3g})"
    return f"**{text}**" if figure < SLOWER and not part.get("fraction") else text


def short(value: float) -> str:
    """Two digits, below 2 three of them: 0.36, 1.05, 6.9, 38, 190."""
    if value < 2:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):.0f}"
