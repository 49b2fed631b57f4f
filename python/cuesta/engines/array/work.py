"""A run: finds or loads the arrays, queries them, and times each phase."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tiledb

from cuesta import removal
from cuesta.engines import Progress
from cuesta.engines.array import graph, join, keep, scan, store
from cuesta.engines.array.filters import filter_parameters, make_filter
from cuesta.engines.array.keep import Loaded
from cuesta.engines.array.options import KEEP_OPTION, chosen, drops_pages, loader_count
from cuesta.engines.array.runs import FILE_READ, Clock, Run
from cuesta.engines.array.sizes import Sizes, sizes
from cuesta.engines.array.text_source import open_text
from cuesta.engines.array.writer import LoadRequest
from cuesta.errors import InputError
from cuesta.machine import expanded
from cuesta.native import native_module
from cuesta.trial import Outcome, Trial

if TYPE_CHECKING:
    from cuesta.engines.array.loaders import Loaders

_WORKLOADS: dict[str, Callable[[Run], None]] = {
    "scan": scan.run,
    "join": join.run,
    "degrees": graph.run_degrees,
    "communities": graph.run_communities,
}


def run(trial: Trial, output: Path, scratch: Path, progress: Progress | None) -> Outcome:
    """Compute the answer of `trial` into `output`. Errors: `InputError`, `EngineError`."""
    _check(trial)
    limits = chosen(trial, sizes(trial.memory_bytes, trial.threads))
    clock = Clock()
    try:
        with _loaders(loader_count(trial), clock) as loaders:
            arrays = _load(trial, scratch, limits, Loading(clock, progress, loaders))
        work = Run(
            trial=trial,
            output=output,
            sizes=limits,
            filter=make_filter(trial.parameters),
            arrays=arrays,
            clock=clock,
            counts=_counts(arrays),
        )
        _WORKLOADS[trial.workload](work)
    finally:
        for number in range(len(trial.inputs)):
            removal.discard(keep.scratch_place(scratch, number))
    core = ".".join(map(str, tiledb.libtiledb.version()))
    versions = {"tiledb": core, "tiledb-py": tiledb.__version__}
    return Outcome(phases=tuple(clock.phases), counts=work.counts, versions=versions)


class Loading(NamedTuple):
    """Context of loading: clock, progress, and loading processes."""

    clock: Clock
    progress: Progress | None
    loaders: Loaders | None


@contextmanager
def _loaders(count: int, clock: Clock) -> Iterator[Loaders | None]:
    """Start loading processes, none for a count of 1; the start is a phase."""
    if count == 1:
        yield None
        return
    from cuesta.engines.array.loaders import Loaders

    with ExitStack() as stack:
        with clock.timed("start"):
            loaders = stack.enter_context(Loaders(count))
        yield loaders


def _check(trial: Trial) -> None:
    """Check a trial before any work. Errors: `InputError`."""
    method = trial.parameters.get("method")
    if trial.workload == "communities" and method in ("louvain", "leiden"):
        raise InputError(
            f"array: engine array does not offer --method {method}; use --engine native"
        )
    # The native module checks a filter with the same messages for all engines.
    native_module().map_bytes(json.dumps(filter_parameters(trial.parameters)), b"")


def _load(trial: Trial, scratch: Path, limits: Sizes, loading: Loading) -> list[Loaded]:
    """Load an array of each version for `join`, else one of all inputs."""
    clock, progress, loaders = loading
    score_index = make_filter(trial.parameters).score_index
    folder = trial.engine_options.get(KEEP_OPTION)
    joins = trial.workload == "join"
    datasets = [[path] for path in trial.inputs] if joins else [list(trial.inputs)]
    cold = drops_pages(trial)
    arrays = []
    with clock.timed("load", FILE_READ) as measure:
        for number, inputs in enumerate(datasets):
            request = LoadRequest(
                text=open_text(inputs, score_index, limits.split),
                score_index=score_index,
                threads=trial.threads,
                sizes=limits,
                is_permanent=folder is not None,
                progress=progress,
            )
            if folder is None:
                arrays.append(keep.load_in(scratch, number, request, loaders))
            else:
                arrays.append(keep.load_or_reuse(expanded(folder), inputs, request, loaders))
        if cold:
            for loaded in arrays:
                store.drop_pages(loaded.place)
        fresh = [loaded.facts for loaded in arrays if not loaded.reused]
        if not fresh:
            measure.name = "open"
            return arrays
        measure.bytes = sum(facts.text_bytes for facts in fresh)
        measure.rows = sum(facts.rows_read for facts in fresh)
    return arrays


def _counts(arrays: list[Loaded]) -> dict[str, int]:
    sizes_on_disk = [store.stored_bytes(loaded.place, loaded.facts.shape) for loaded in arrays]
    return {
        "rows_read": sum(loaded.facts.rows_read for loaded in arrays),
        "rows_loaded": sum(loaded.facts.rows for loaded in arrays),
        "array_bytes": sum(sizes_on_disk),
        "arrays_reused": sum(loaded.reused for loaded in arrays),
    }
