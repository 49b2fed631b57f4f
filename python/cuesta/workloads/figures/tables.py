"""Tables of an answer, and CSV of the data of a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path


def header_and_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows of a table."""
    with path.open(encoding="utf-8") as file:
        header = file.readline().rstrip("\n").split("\t")
        return header, [line.rstrip("\n").split("\t") for line in file]


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a table."""
    return header_and_rows(path)[1]


def number(cell: str) -> float:
    """Return the number of a cell; not a number for a missing one."""
    return float("nan") if cell == "NA" else float(cell)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def colours_of(folder: Path) -> list[str]:
    """Return the colour of each module, from 0."""
    with (folder / "modules.gmt").open(encoding="utf-8") as file:
        return ["grey", *(line.split("\t", 1)[0] for line in file)]
