"""Conversion of edge lists with names to KINC text in scratch, for the kernels."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, Protocol

from cuesta import removal
from cuesta.errors import InputError
from cuesta.native import native_module
from cuesta.trial import Phase, Trial, is_remote
from cuesta.workloads import GENES, get_workload, row_names


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


def share(trial: Trial, scratch: Path, other: Path) -> None:
    """Let files that were converted into `scratch` be in the folder `other` too, if they can."""
    for number in range(len(trial.inputs)):
        made, place = _place(scratch, number), _place(other, number)
        if made.exists() and not place.exists():
            # Without links it is converted again.
            with suppress(OSError):
                place.hardlink_to(made)


def layout(path: str) -> str | None:
    """Return the layout of an edge list, None for another kind. Errors: `InputError`."""
    if is_remote(path) or not Path(path).is_file():
        return None
    facts = Path(path).stat()
    words = _layout(path, facts.st_mtime_ns, facts.st_size)
    if words is None:
        row_names.check(path)
    return words


@cache
def _layout(path: str, _changed_ns: int, _size_bytes: int) -> str | None:
    words: str | None = native_module().edge_list(path)
    return words


def prepare(trial: Trial, scratch: Path, observer: Notes) -> list[str]:
    """Convert the edge lists of a trial and report their sizes; return remarks on their scores.

    Errors: as for `readable`; `InputError` for a workload or an option that is for other inputs.
    """
    if not get_workload(trial.workload).names:
        return []
    remarks: list[str] = []
    edges, loops = 0, 0
    for number, path in enumerate(trial.inputs):
        words = layout(path)
        if words is None:
            continue
        _check(trial, path, words)
        scratch.mkdir(exist_ok=True)
        counts = _convert(trial, path, _place(scratch, number))
        _check_genes(trial, path, counts["genes"])
        observer.note(
            f"{path}: {counts['layout']}; {counts['edges']:,} edges, {counts['genes']:,} genes"
            + _left_out(counts)
        )
        edges, loops = edges + counts["edges"], loops + counts["loops"]
        if rounded := counts["rounded"]:
            number_text = "1 score has" if rounded == 1 else f"{rounded:,} scores have"
            remarks.append(f"{path}: {number_text} more than six decimals, rounded to millionths")
    if loops and not edges and all(layout(path) is not None for path in trial.inputs):
        raise InputError(
            f"{', '.join(trial.inputs)}: each line is an edge of a gene with itself, so no edge "
            "remains; give a list in which the two columns of genes differ"
        )
    return remarks


def _check(trial: Trial, path: str, words: str) -> None:
    """Check that an edge list fits the question. Errors: `InputError`."""
    if get_workload(trial.workload).converter != "edges":
        raise InputError(
            f"{trial.workload}: {path} is {words}; {trial.workload} takes KINC text. Give the list "
            f"to scan, join, degrees or communities, or run `cuesta run scan {quote(path)} -o DIR` "
            f"and give DIR/pairs.txt to {trial.workload}"
        )
    index = trial.parameters.get("score_index")
    if index:
        raise InputError(
            f"{path} is {words}, with one score an edge; --score-index is {index}, leave it out"
        )


def _check_genes(trial: Trial, path: str, count: int) -> None:
    """Check the number of genes in the question. Errors: `InputError`."""
    genes = trial.parameters.get(GENES)
    if isinstance(genes, int) and genes < count:
        raise InputError(
            f"{path} names {count:,} genes, --genes is {genes:,}; leave it out, or give a file "
            "that names the genes"
        )


def converted(trial: Trial, scratch: Path) -> Trial:
    """Return the trial for engines that read KINC text alone. Errors: as for `readable`."""
    is_for_edges = get_workload(trial.workload).converter == "edges"
    return readable(trial, scratch)[0] if is_for_edges else trial


def _left_out(counts: Mapping[str, int]) -> str:
    parts = []
    if repeated := counts["repeated"]:
        lines = "1 line repeats" if repeated == 1 else f"{repeated:,} lines repeat"
        parts.append(f"{lines} an edge")
    if loops := counts["loops"]:
        lines = "1 line" if loops == 1 else f"{loops:,} lines"
        parts.append(f"{lines} of a gene with itself left out")
    return "".join(f"; {part}" for part in parts)


def _place(scratch: Path, number: int) -> Path:
    return scratch / f"edges-{number}.txt"


def _converted(trial: Trial, path: str, made: Path) -> Path:
    if not made.exists():
        _convert(trial, path, made)
    return made


def _convert(trial: Trial, path: str, made: Path) -> dict[str, Any]:
    """Convert an edge list, without edges of earlier lists if all inputs are a single network."""
    partial = made.with_suffix(".partial")
    is_single_network = get_workload(trial.workload).inputs_maximum is None
    count = trial.inputs.index(path) if is_single_network else 0
    before = (_place(made.parent, number) for number in range(count))
    earlier = [str(text) for text in before if text.exists()]
    try:
        text = native_module().convert_edges(
            (path, trial.names or path), earlier, str(partial), trial.memory_bytes
        )
    except InputError as error:
        if trial.names and str(error).endswith("does not name"):
            raise InputError(f"{error}; add it to that file, or leave --genes out") from None
        raise
    removal.put(partial, made)
    counts: dict[str, Any] = json.loads(text)
    return counts
