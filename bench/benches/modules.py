"""Modules of genes and the choice of a power, from text to tables, beside WGCNA in R."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benches import ours, typed
from harness import native
from harness.data import Matrix, matrix_text
from harness.model import Answer, Case, Contestant, MemoryLimit, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import numpy_arrays, wgcna

OVERLAP = "cuesta's overlap"
PRODUCT = "dgemm"
POWER = 6
GENES_OF_R = 30_000
"""Most genes whose matrices R has room for in 24 GiB."""
INDEX_MIN = 0.99
"""Least adjusted Rand index of our modules with those of R."""
FIT_TOLERANCE = 1e-9
"""Tolerance of figures in the table of powers, relative above 1."""
FIT_COLUMNS = {
    "r_squared": "SFT.R.sq",
    "slope": "slope",
    "truncated_r_squared": "truncated.R.sq",
    "mean_connectivity": "mean.k.",
    "median_connectivity": "median.k.",
    "max_connectivity": "max.k.",
}
"""Columns of our table of powers, and those of `pickSoftThreshold`."""


def cases(size: Size) -> Iterator[Case]:
    """The table of powers, and modules in one block."""
    shape = Matrix(genes=size.pick(600, 20_000), samples=size.pick(60, 500))
    yield powers(size, shape)
    yield modules(size, shape, memory="4GiB")


def powers(size: Size, shape: Matrix) -> Case:
    """`threshold`: all cut-offs and powers, against the powers alone."""
    path = matrix_text(size.folder, shape)
    job = Job(workload="threshold", inputs=(path,), parameters={"memory": "1GiB"})
    why = absent(size)
    peer = Contestant(
        name=wgcna.NAME,
        how=f"fread, pickSoftThreshold of 15 powers, fwrite; two threads, {wgcna.version()}",
        work=partial(wgcna.run, "powers", path),
        answer=lambda folder: fit(folder / "powers.tsv", FIT_COLUMNS.values()),
        repeats_max=1,
    )
    return Case(
        name=f"threshold, {shape.genes} x {shape.samples}",
        contestants=(
            ours.command(job, lambda folder: fit(folder / "powers.tsv", FIT_COLUMNS)),
            *(() if why else (peer,)),
        ),
        bars=(
            Ratio(
                ours=ours.COMMAND, peer=wgcna.NAME, at_least=10.0, text="10x R's pickSoftThreshold"
            ),
            MemoryLimit(ours=ours.COMMAND, below_bytes=1 << 30, text="at most 1 GiB"),
        ),
        amount=float(shape.genes * (shape.genes - 1) // 2),
        unit="pairs",
        inputs=(path,),
        absent={wgcna.NAME: why} if why else {},
        repeats_max=3,
        same=same_fit,
    )


def modules(size: Size, shape: Matrix, memory: str) -> Case:
    """`modules` by the rules of R, against `blockwiseModules` in one block."""
    path = matrix_text(size.folder, shape)
    parameters = {"as": "wgcna-1.72", "power": POWER, "min_module_size": 30, "memory": memory}
    job = Job(workload="modules", inputs=(path,), parameters=parameters)
    last = _Last()
    square = size.pick(512, 4096)
    multiply = numpy_arrays.square_product(square, np.float64)
    is_large = shape.genes > GENES_OF_R
    why = "its matrices need more memory than this machine has" if is_large else absent(size)
    peer = Contestant(
        name=wgcna.NAME,
        how=f"fread, blockwiseModules in one block, power {POWER}; two threads, {wgcna.version()}",
        work=partial(wgcna.run, "modules", path),
        answer=labels,
        repeats_max=1,
    )
    return Case(
        name=f"modules, {shape.genes} x {shape.samples}",
        contestants=(
            Contestant(
                name=ours.COMMAND,
                how=f"the whole process, verified: {job.text}",
                work=lambda folder: last.command(job, folder),
                answer=lambda folder: labels(folder / "answer"),
            ),
            Contestant(name=OVERLAP, how="of its record", work=lambda _: last.phase("overlap")),
            Contestant(
                name=PRODUCT,
                how=f"OpenBLAS through NumPy, {square} x {square}, double precision",
                work=lambda _: multiply(),
                amount=2.0 * square**3,
            ),
            *(() if why else (peer,)),
        ),
        bars=(
            Ratio(ours=ours.COMMAND, peer=wgcna.NAME, at_least=5.0, text="5x R's WGCNA"),
            MemoryLimit(
                ours=ours.COMMAND, below_bytes=int(memory[:-3]) << 30, text=f"at most {memory}"
            ),
            Ratio(
                ours=OVERLAP, peer=PRODUCT, at_least=0.6,
                text="the overlap at 0.6 of the double-precision GEMM rate",
            ),
        ),
        amount=float(shape.genes) ** 3,
        unit="flop",
        inputs=(path,),
        absent={wgcna.NAME: why} if why else {},
        repeats_max=1 if is_large else 3,
        same=same_labels,
    )  # fmt: skip


def absent(size: Size) -> str | None:
    """Why R does not take part, or None."""
    return size.left_out("R") or wgcna.missing()


@dataclass
class _Last:
    """The run record of the last repeat of our command."""

    record: dict[str, Any] = field(default_factory=dict)

    def command(self, job: Job, folder: Path) -> Sample:
        """Run the command and keep its record."""
        sample = native.command(job, folder)
        self.record = typed.record(folder / "answer")
        return sample

    def phase(self, name: str) -> Sample:
        """Seconds of a phase."""
        seconds = {phase["name"]: phase["seconds"] for phase in self.record["phases"]}
        return Sample(seconds=float(seconds[name]))


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def labels(folder: Path) -> Answer:
    """The label of every gene, in the order of the genes."""
    numbers = [int(row["module"]) for row in rows_of(folder / "modules.tsv")]
    return Answer(digest=f"{len(set(numbers) - {0})} modules", rows=len(numbers), values=numbers)


def same_labels(answer: Answer, other: Answer) -> str | None:
    """The difference of two groupings in modules, or None."""
    if answer.rows != other.rows:
        return f"{answer.rows} genes and {other.rows}"
    index = float(adjusted_rand_score(answer.values, other.values))
    if answer.digest != other.digest or index < INDEX_MIN:
        return f"{answer.digest} and {other.digest}, adjusted Rand index {index:.4f}"
    return None


def fit(path: Path, columns: Iterable[str]) -> Answer:
    """The table of powers."""
    table = [[float(row[name]) for name in columns] for row in rows_of(path)]
    return Answer(digest=f"{len(table)} powers", rows=len(table), values=table)


def same_fit(answer: Answer, other: Answer) -> str | None:
    """The first figure in which two tables of powers differ, or None."""
    if answer.rows != other.rows:
        return f"{answer.rows} powers and {other.rows}"
    for ours_row, row in zip(answer.values, other.values, strict=True):
        for name, mine, theirs in zip(FIT_COLUMNS, ours_row, row, strict=True):
            if abs(mine - theirs) > FIT_TOLERANCE * max(1.0, abs(theirs)):
                return f"{name} is {mine!r} and {theirs!r}"
    return None
