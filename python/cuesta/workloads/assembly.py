"""What a reader should see first of an assembly."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

View = dict[str, object]

SPECTRUM_COUNTS = 200
"""Counts beyond this are repeats, and say nothing at this size."""


def views(folder: Path, rows: int) -> list[View]:
    """The spectrum of k-mers, the largest contigs, and how each size of k-mers did.

    Errors: `OSError`, `ValueError` when a file is missing or damaged.
    """
    stats = json.loads((folder / "stats.json").read_text("utf-8"))
    return [_spectrum(folder, stats["levels"][0]), *_largest(folder, rows), _levels(stats)]


def _spectrum(folder: Path, level: dict[str, Any]) -> View:
    with (folder / "spectrum.tsv").open(encoding="ascii") as file:
        cells = [line.split("\t") for line in islice(file, 1, SPECTRUM_COUNTS + 1)]
    points = [[int(count), int(kmers)] for count, kmers in cells if int(count) <= SPECTRUM_COUNTS]
    note = f"K-mers seen less than {level['min_count']} times were taken for errors."
    if level["fit"]["depth"]:
        depth, size = level["fit"]["depth"], level["fit"]["genome_size"]
        errors = 100 * level["fit"]["error_rate"]
        note += (
            f" The genome's are seen {depth:.1f} times on average, which makes about {size:,} of"
            f" them, and {errors:.2g} % of all bases wrong."
        )
    return {
        "kind": "distribution", "title": f"How often {level['k']}-mers were seen",
        "x": "times seen", "y": "distinct k-mers",
        "series": [{"name": "k-mers", "points": points}], "note": note,
    }  # fmt: skip


def _largest(folder: Path, rows: int) -> list[View]:
    table: list[list[str | float]] = []
    with (folder / "contigs.fa").open(encoding="ascii") as file:
        for line in file:
            if line.startswith(">") and len(table) < rows:
                name, *pairs = line[1:].split()
                facts = dict(pair.split("=") for pair in pairs)
                shape = "circular" if facts.get("circular") else "linear"
                table.append([name, int(facts["length"]), float(facts["coverage"]), shape])
    if not table:
        return []
    columns = ["contig", "bases", "mean count of its k-mers", "shape"]
    return [
        {"kind": "bars", "title": "Largest contigs", "x": "bases",
         "items": [[name, length] for name, length, *_ in table]},
        {"kind": "table", "title": "Largest contigs", "columns": columns, "rows": table},
    ]  # fmt: skip


def _levels(stats: dict[str, Any]) -> View:
    rows = []
    for level in stats["levels"]:
        removed = [
            sum(one[kind] for one in level["rounds"])
            for kind in ("tips", "islands", "bubbles", "connections")
        ]
        rows.append([str(level["k"]), level["min_count"], level["distinct"], level["solid"],
                     level["unitigs"], *removed])  # fmt: skip
    columns = ["k", "least count", "distinct k-mers", "solid", "unitigs", "tips", "islands",
               "bubbles", "connections"]  # fmt: skip
    return {"kind": "table", "title": "By size of k-mers, and what was taken out",
            "columns": columns, "rows": rows}  # fmt: skip
