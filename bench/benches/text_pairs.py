"""A case of the bench `correlate`: the strongest pairs of many genes as text, whole processes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from benches import ours
from harness import limits, packages, scores_of_pairs
from harness.data import Matrix, matrix_text
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import assemblers, whole_process

NUMPY, CORALS = "numpy + polars", "corals"
CORALS_PART = 0.001
"""Part of the pairs that CorALS looks for: its own measure."""
TOLERANCE_MICRO = 5
"""Single precision of a product, in millionths."""


def case(size: Size) -> Case:
    """Ours verified; NumPy writes the same pairs; CorALS a thousandth of all pairs."""
    shape = Matrix(genes=size.pick(600, 20_000), samples=50)
    path = matrix_text(size.folder, shape)
    bound = size.pick(0.6, 0.8)
    job = Job(
        workload="correlate",
        inputs=(path,),
        parameters={"method": "pearson", "min_abs_score": bound},
    )
    numpy = Contestant(
        name=NUMPY,
        how="pandas' reader, standardise, blocks of 2048 rows @ rows, write_csv",
        work=work("numpy", "correlate", path, bound),
        answer=of_table,
        repeats_max=3,
    )
    corals = Contestant(
        name=CORALS,
        how=f"pandas' reader, cor_topk, k = {CORALS_PART}, 2 jobs; other pairs",
        work=work("corals", "correlate_corals", path, CORALS_PART),
        repeats_max=3,
    )
    why = corals_missing(size)
    return Case(
        name=f"{shape.genes} x {shape.samples}, |r| >= {bound} as text",
        contestants=(
            ours.command(job, scores_of_pairs.of_text),
            numpy,
            *(() if why else (corals,)),
        ),
        bars=(
            Ratio(ours=ours.COMMAND, peer=NUMPY, at_least=2.0, text="2x NumPy, whole processes"),
            Ratio(ours=ours.COMMAND, peer=CORALS, at_least=2.0, text="2x CorALS, whole processes"),
        ),
        amount=float(shape.genes * (shape.genes - 1) // 2),
        unit="pairs",
        inputs=(path,),
        absent={CORALS: why} if why else {},
        same=scores_of_pairs.same(bound, TOLERANCE_MICRO),
    )


def corals_missing(size: Size) -> str | None:
    """Why CorALS does not take part, or None."""
    return packages.missing("corals") or size.left_out(CORALS)


def work(package: str, job: str, path: Path, limit: float) -> Callable[[Path], Sample]:
    """A job of `whole_process` in the Python that has a package."""

    def run(folder: Path) -> Sample:
        python = str(packages.python_with(package))
        command = [python, whole_process.__file__, job, str(path), str(folder), str(limit)]
        return limits.run(command, assemblers.UNLIMITED_BYTES)

    return run


def of_table(folder: Path) -> Answer:
    """The pairs of a table of both genes and the score."""
    with (folder / "pairs.tsv").open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t")
        next(rows)
        pairs = {(int(row[0]), int(row[1])): round(float(row[2]) * 1e6) for row in rows}
    return scores_of_pairs.answer(pairs)
