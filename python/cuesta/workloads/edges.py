"""Conversion of edge lists with names to KINC text in scratch, for the kernels."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from cuesta import removal
from cuesta.native import native_module
from cuesta.trial import Phase, Trial, is_remote
from cuesta.workloads import get_workload


class Notes(Protocol):
    """An observer that shows sentences to the user."""

    def note(self, text: str) -> None:
        """Show a sentence."""


def readable(trial: Trial, scratch: Path) -> tuple[Trial, tuple[Phase, ...]]:
    """Return the trial with KINC text in `scratch` for its edge lists, unchanged without any.

    A file that was converted into `scratch` before is not converted again. Errors: `InputError`
    naming the line that is no edge.
    """
    lists = [path for path in trial.inputs if layout(path) is not None]
    if not lists:
        return trial, ()
    started = time.perf_counter()
    inputs = tuple(
        str(_converted(trial, path, _place(scratch, number))) if path in lists else path
        for number, path in enumerate(trial.inputs)
    )
    size_bytes = sum(Path(path).stat().st_size for path in lists)
    phase = Phase(name="convert", seconds=time.perf_counter() - started, bytes=size_bytes)
    return replace(trial, inputs=inputs), (phase,)


def layout(path: str) -> str | None:
    """Return the layout of an edge list, None for another kind. Errors: `InputError`."""
    if is_remote(path) or not Path(path).is_file():
        return None
    facts = Path(path).stat()
    return _layout(path, facts.st_mtime_ns, facts.st_size)


@cache
def _layout(path: str, _changed_ns: int, _size_bytes: int) -> str | None:
    words: str | None = native_module().edge_list(path)
    return words


def prepare(trial: Trial, scratch: Path, observer: Notes) -> None:
    """Convert the edge lists of a trial and report their sizes. Errors: as for `readable`."""
    if get_workload(trial.workload).converter != "edges":
        return
    for number, path in enumerate(trial.inputs):
        if layout(path) is None:
            continue
        scratch.mkdir(exist_ok=True)
        counts = _convert(trial, path, _place(scratch, number))
        observer.note(
            f"{path}: {counts['layout']}; {counts['edges']:,} edges, {counts['genes']:,} genes"
            + _left_out(counts)
        )


def converted(trial: Trial, scratch: Path) -> Trial:
    """Return the trial for engines that read KINC text alone. Errors: as for `readable`."""
    is_for_edges = get_workload(trial.workload).converter == "edges"
    return readable(trial, scratch)[0] if is_for_edges else trial


def _left_out(counts: Mapping[str, int]) -> str:
    parts = []
    if counts["repeated"]:
        parts.append(f"{counts['repeated']:,} lines repeat an edge")
    if counts["loops"]:
        parts.append(f"{counts['loops']:,} lines of a gene with itself are left out")
    return "".join(f"; {part}" for part in parts)


def _place(scratch: Path, number: int) -> Path:
    return scratch / f"edges-{number}.txt"


def _converted(trial: Trial, path: str, made: Path) -> Path:
    if not made.exists():
        _convert(trial, path, made)
    return made


def _convert(trial: Trial, path: str, made: Path) -> dict[str, Any]:
    partial = made.with_suffix(".partial")
    text = native_module().convert_edges(
        path, trial.names or path, str(partial), trial.memory_bytes
    )
    removal.put(partial, made)
    counts: dict[str, Any] = json.loads(text)
    return counts
