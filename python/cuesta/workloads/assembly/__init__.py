"""Previews of an assembly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from cuesta.workloads.assembly import (
    components,
    coverage,
    next_steps,
    sampling,
    spectrum,
    tables,
    trimming,
)
from cuesta.workloads.assembly.files import Files, View


def views(folder: Path, parameters: Mapping[str, object], rows: int) -> list[View]:
    """Return the views of an assembly in `folder`.

    They show the spectrum of k-mers, next steps, contigs by length, their depth by length and GC,
    the graph, sampled and trimmed reads, circular replicons, the largest contigs, libraries of read
    pairs, each size of k-mers, the cost of vertex programs, if any, and the bytes of the paper's
    first stage.
    Views of missing or damaged files are left out.
    """
    answer = Files(folder, rows)
    makers = (
        partial(spectrum.views, parameters=parameters),
        partial(next_steps.views, parameters=parameters), tables.lengths, coverage.views,
        components.views, sampling.views, trimming.views, tables.circles, tables.largest,
        tables.libraries, tables.levels, tables.first_stage, tables.supersteps,
    )  # fmt: skip
    shown: list[View] = []
    for make in makers:
        try:
            shown += make(answer)
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return shown
