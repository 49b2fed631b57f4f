"""A comparison of programs as words and a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cuesta.programs.verdicts import TIMED, WRONG
from cuesta.report.programs_words import lead, ratio_text, where
from cuesta.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from cuesta.api.console import Console

Record = dict[str, Any]


def print_programs(console: Console, record: Record) -> None:
    """Print a row for each program and size, then what differs, failed or is remarkable."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    several = len(record["comparison"]["sizes"]) > 1
    for title in ("", *(("size",) * several), "answer", "time", "", "interval", "CPU", "memory"):
        table.add_column(title, justify="left" if title in ("", "answer") else "right")
    for name, case in cases(record):
        verdict = case["verdict"]
        style = "green" if verdict in TIMED else "red"
        table.add_row(
            Text(name),
            *((Text(case["size"]),) * several),
            Text("differs" if verdict in WRONG else verdict, style=style),
            *_measures(record, name, case),
        )
    console.rich().print(table)
    for line in remarks(record):
        console.print(f"  {line}")
    for sentence in lead(record):
        console.print(sentence)


def cases(record: Record) -> Iterator[tuple[str, Record]]:
    """All programs at all sizes, size by size."""
    for size in record["comparison"]["sizes"]:
        for program in record["programs"]:
            yield from (
                (program["name"], case) for case in program["cases"] if case["size"] == size
            )


def remarks(record: Record) -> Iterator[str]:
    """Verdicts with their reasons, and remarks, a line each."""
    several = len(record["comparison"]["sizes"]) > 1
    for name, case in cases(record):
        place = where(name, case["size"], several=several)
        if case["verdict"] not in TIMED:
            word = "differs" if case["verdict"] in WRONG else case["verdict"]
            yield f"{place}: {word}: {case['sentence']}"
        for remark in case["remarks"]:
            yield f"{place}: {remark}"


def _measures(record: Record, name: str, case: Record) -> tuple[str, ...]:
    """Time, ratio, interval, processor time and memory; dashes without an equal answer."""
    statistics = case["statistics"]
    if not statistics:
        return ("\u2013",) * 5
    wall = statistics["wall_seconds"]
    runs = case["runs"]
    seconds = sorted(run["user_seconds"] + run["system_seconds"] for run in runs)
    peaks = [run["peak_resident_bytes"] for run in runs if run["peak_resident_bytes"]]
    interval = f"{format_seconds(wall['low'])} to {format_seconds(wall['high'])}"
    return (
        format_seconds(wall["median"]),
        ratio_text(record, name, case),
        interval if len(runs) > 1 else "\u2013",
        format_seconds(seconds[len(seconds) // 2]),
        format_bytes(max(peaks)) if peaks else "\u2013",
    )
