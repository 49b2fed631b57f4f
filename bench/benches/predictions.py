"""Predictions of a model that is fitted to our own runs, for trials that are then measured.

Held-out trials have twice the data, half the memory, another rate of the disk, two processes or two
nodes. All trials are recorded, missed and refused ones too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuesta_lab.model import fit, records
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.predict import predict
from harness import predictions, studies
from harness.data import (
    Matrix,
    Pairs,
    Points,
    drawn_reads,
    matrix_text,
    pairs_text,
    points_array,
    tera_records,
)
from harness.model import (
    INSIDE,
    REFUSED,
    Case,
    Contestant,
    PredictionError,
    PredictionShare,
    Recorded,
    Sample,
)
from harness.size import Size
from harness.studies import Trial

ERROR_MOST = 0.15
VECTOR_BYTES = 24
QUESTION = "How long does it take?"
TWICE, HALF, DISK = "twice the data", "half the memory", "another disk rate"
PROCESSES, NODES = "2 processes", "2 nodes"
BARS = (
    PredictionError(at_most=ERROR_MOST, text="median error of what is predicted, at most 15 %"),
    PredictionShare(which=INSIDE, text="inside their intervals of 90 %, shown"),
    PredictionShare(which=REFUSED, text="refused, shown"),
)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A workload on an engine: its known trials, and those that are held out.

    Attributes
    ----------
    name
        Name of the workload and engine, for the names of its trials.
    common
        Settings of all its trials.
    known
        The settings of each trial that the model is fitted to.
    held
        Difference of a trial that is held out, in words, and its settings.
    """

    name: str
    common: dict[str, Any]
    known: Sequence[dict[str, Any]]
    held: Sequence[tuple[str, dict[str, Any]]]


@dataclass
class _Named:
    """Trials under names that a study accepts; those held out with their difference in words."""

    known: list[Trial] = field(default_factory=list)
    held: list[tuple[str, Trial]] = field(default_factory=list)


def cases(size: Size) -> Iterator[Case]:
    """A case of all trials that were held out."""
    named = _Named()
    for grid in grids(size):
        for number, settings in enumerate(grid.known, 1):
            named.known.append(_trial(f"{grid.name}-{number}", grid, settings))
        for number, (what, settings) in enumerate(grid.held, 1):
            trial = _trial(f"{grid.name}-held-{number}", grid, settings)
            named.held.append((f"{grid.name}, {what}", trial))
    repeats = size.pick(1, 3)
    folder = size.folder / f"predictions-{size.pick('smoke', 'real')}"
    known = studies.run(folder / "known", QUESTION, named.known, repeats)
    places = [place for settings in known.places.values() for place in settings]
    model = fit.fit(records.observed(places), [folder.name], seed=0)
    (folder / "model.json").write_text(json.dumps(model, indent=1))
    trials = [trial for _, trial in named.held]
    held = studies.run(folder / "held", QUESTION, trials, repeats)
    yield Case(
        name="trials held out",
        contestants=tuple(
            _contestant(f"{words} ({trial.name})", trial, held, model)
            for words, trial in named.held
            if trial.name in held.places
        ),
        bars=BARS,
        amount=1.0,
        unit="B",
        absent={
            f"{words} ({trial.name})": held.absent[trial.name]
            for words, trial in named.held
            if trial.name in held.absent
        },
        notes=tuple(_known(group) for group in model["groups"]),
    )


def _trial(name: str, grid: Grid, settings: dict[str, Any]) -> Trial:
    merged = {**grid.common, **settings}
    inputs = tuple(merged.pop("inputs", ()))
    return Trial(name=name, settings=merged, inputs=inputs)


def _contestant(
    name: str, trial: Trial, held: studies.StudyRuns, model: dict[str, Any]
) -> Contestant:
    """Contestant of a trial that was held out: its prediction, and its measured time."""
    observed_runs = records.observed(held.places[trial.name])
    recorded = Recorded(
        samples=tuple(Sample(seconds=run.seconds or 0.0) for run in observed_runs),
        predicted=predict(model, observed_runs[0]),
    )
    settings = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
    return Contestant(
        name=name,
        how=f"{predictions.words(recorded)}; {settings}",
        amount=_bytes(trial, observed_runs[0]),
        recorded=recorded,
    )


def _bytes(trial: Trial, observed: Observation) -> float:
    """Bytes of the input, or of the vectors that are made in its place."""
    vectors = trial.settings.get("parameters", {}).get("block_vectors", 0)
    return observed.data_bytes or observed.amount * vectors * VECTOR_BYTES


def _known(group: dict[str, Any]) -> str:
    """Sentence with the number of runs that a model was fitted to, and its terms."""
    words = f"{group['group']['workload']}, {group['group']['engine']}"
    if group["group"]["cache"] != "as-is":
        words += f", {group['group']['cache']}"
    head = f"fitted to {len(group['runs'])} runs of {words}"
    if group["refused"]:
        return f"{head}: refused, {group['refused']}"
    form = group["views"]["overall"][0]
    return f"{head}: {' + '.join(form['terms'])}, weight {form['weight']:.0%}"


def grids(size: Size) -> Iterator[Grid]:
    """Every workload with its small grid; at the smoke size two of them."""
    yield dataflow(size)
    yield sort(size)
    if size.smoke:
        return
    yield slow_disk(size)
    yield kmeans(size)
    yield correlate(size)
    yield assemble(size)
    yield sort_on_ranks(size)


def dataflow(size: Size) -> Grid:
    """On ranks of MPI, with one and two of them, and on two nodes."""
    blocks = size.pick(2, 128)
    vectors = size.pick(1 << 12, 1 << 20)

    def settings(times: int, cores: int, nodes: int = 1) -> dict[str, Any]:
        parameters = {"blocks": times * blocks, "block_vectors": vectors}
        return {"parameters": parameters, "cores": cores, "nodes": nodes}

    return Grid(
        name="dataflow-mpi",
        common={"workload": "dataflow", "engine": "mpi", "memory": "2GiB"},
        known=[
            settings(1, 1), settings(2, 1), settings(4, 1),
            settings(1, 2), settings(2, 2), settings(4, 2),
            *(settings(times, 1, 2) for times in size.pick((1,), (1, 2))),
        ],
        held=[
            (TWICE, settings(8, 1)),
            (f"{TWICE}, {PROCESSES}", settings(8, 2)),
            (NODES, settings(4, 1, 2)),
            (f"{TWICE}, {NODES}", settings(8, 1, 2)),
        ][: size.pick(3, 4)],
    )  # fmt: skip


def sort(size: Size) -> Grid:
    """In memory and beyond it, of sizes whose answers the system may keep in memory."""
    rows = size.pick(20_000, 1_250_000)

    def settings(times: int, memory: str, cores: int = 2) -> dict[str, Any]:
        return {
            "inputs": [tera_records(size.folder, times * rows)], "memory": memory, "cores": cores
        }  # fmt: skip

    common = {"workload": "sort", "engine": "native"}
    if size.smoke:
        known = [settings(times, "1GiB") for times in (1, 2, 4)]
        return Grid(name="sort", common=common, known=known, held=[(TWICE, settings(8, "1GiB"))])
    return Grid(
        name="sort",
        common=common,
        known=[
            *(settings(times, "4GiB") for times in (1, 2, 4)),
            *(settings(times, "4GiB", 1) for times in (1, 2)),
            *(settings(2, memory) for memory in ("256MiB", "128MiB")),
            *(settings(4, memory) for memory in ("512MiB", "256MiB")),
        ],
        held=[
            (TWICE, settings(8, "4GiB")),
            (f"{TWICE}, 1 process", settings(4, "4GiB", 1)),
            (TWICE, settings(8, "512MiB")),
            (HALF, settings(4, "128MiB")),
        ],
    )


def slow_disk(size: Size) -> Grid:
    """Pairs that are read from a disk with a limited rate."""

    def settings(genes: int, rate: int) -> dict[str, Any]:
        machine = {"disk-rate": f"{rate}MB/s", "disk-holds": "input"}
        return {"inputs": [pairs_text(size.folder, Pairs(genes=genes))], "machine": machine}

    return Grid(
        name="scan-disk",
        common={
            "workload": "scan", "engine": "native", "cores": 2, "memory": "2GiB", "cache": "cold",
            "parameters": {"min_abs_score": 0.8},
        },
        known=[settings(500, 100), settings(700, 100), settings(500, 200), settings(700, 200)],
        held=[
            (DISK, settings(700, 50)),
            (DISK, settings(700, 150)),
            (f"{TWICE}, {DISK}", settings(1000, 60)),
        ],
    )  # fmt: skip


def kmeans(size: Size) -> Grid:
    """In memory, and with points that are read anew in each iteration."""

    def settings(rows: int, memory: str, cores: int = 2) -> dict[str, Any]:
        points = points_array(size.folder, Points(rows=rows * 1_000_000))
        return {"inputs": [points], "memory": memory, "cores": cores}

    return Grid(
        name="kmeans",
        common={
            "workload": "kmeans", "engine": "native",
            "parameters": {"clusters": 10, "iterations": 20},
        },
        known=[
            *(settings(rows, "4GiB") for rows in (1, 2, 4)),
            *(settings(rows, "4GiB", 1) for rows in (1, 2)),
            settings(2, "256MiB"), settings(4, "256MiB"), settings(2, "128MiB"),
        ],
        held=[
            (TWICE, settings(8, "4GiB")),
            (f"{TWICE}, 1 process", settings(4, "4GiB", 1)),
            (HALF, settings(4, "128MiB")),
        ],
    )  # fmt: skip


def correlate(size: Size) -> Grid:
    """All pairs: four times the work for twice the data."""

    def settings(genes: int, cores: int) -> dict[str, Any]:
        return {"inputs": [matrix_text(size.folder, Matrix(genes=genes))], "cores": cores}

    return Grid(
        name="correlate",
        common={
            "workload": "correlate", "engine": "native", "memory": "4GiB",
            "parameters": {"min_abs_score": 0.8},
        },
        known=[
            *(settings(genes, 2) for genes in (4000, 5500, 7500)),
            *(settings(genes, 1) for genes in (4000, 5500)),
        ],
        held=[(TWICE, settings(15_000, 2)), (f"{TWICE}, 1 process", settings(11_000, 1))],
    )  # fmt: skip


def assemble(size: Size) -> Grid:
    """Reads of genomes of growing size."""

    def settings(megabases: float, memory: str, cores: int = 2) -> dict[str, Any]:
        reads = drawn_reads(size.folder, int(megabases * 1e6))
        return {"inputs": [reads], "memory": memory, "cores": cores}

    return Grid(
        name="assemble",
        common={"workload": "assemble", "engine": "native", "parameters": {"kmer_sizes": "31"}},
        known=[
            *(settings(bases, "4GiB") for bases in (0.5, 1, 2)),
            *(settings(bases, "4GiB", 1) for bases in (0.5, 1)),
        ],
        held=[(TWICE, settings(4, "4GiB")), (f"{TWICE}, 1 process", settings(2, "4GiB", 1))],
    )


def sort_on_ranks(size: Size) -> Grid:
    """Two ranks, of which only one small run is known."""

    def settings(times: int, cores: int) -> dict[str, Any]:
        return {"inputs": [tera_records(size.folder, times * 2_500_000)], "cores": cores}

    return Grid(
        name="sort-mpi",
        common={"workload": "sort", "engine": "mpi", "memory": "4GiB"},
        known=[settings(1, 1), settings(2, 1), settings(4, 1), settings(1, 2)],
        held=[(PROCESSES, settings(4, 2))],
    )
