"""What a reader should see first of an assembly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from cuesta.workloads.assembly import components, coverage, next_steps, spectrum, tables
from cuesta.workloads.assembly.files import Files, View


def views(folder: Path, parameters: Mapping[str, object], rows: int) -> list[View]:
    """The spectrum of k-mers, what to do next, contigs by length, their depth by length and GC, the
    graph, circular replicons, the largest contigs, libraries of read pairs, each size of k-mers;
    what vertex programs took where there were any, and what the paper's first stage would have
    moved.

    What a file that is missing or damaged would have shown is left out.
    """
    answer = Files(folder, rows)
    makers = (
        partial(spectrum.views, parameters=parameters),
        partial(next_steps.views, parameters=parameters), tables.lengths, coverage.views,
        components.views, tables.circles, tables.largest, tables.libraries, tables.levels,
        tables.first_stage, tables.supersteps,
    )  # fmt: skip
    found: list[View] = []
    for make in makers:
        try:
            found += make(answer)
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return found
