"""A case of the bench `correlate`: Spearman of sparse single cells, beside dense NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np

from benches import ours
from harness import limits, scores_of_pairs
from harness.cells import Cells, cells_h5ad
from harness.model import Answer, Case, Contestant, MemoryLimit, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import assemblers, whole_process

DENSE = "dense numpy"
MIN_ABS_SCORE = 0.15
MEMORY_BYTES = 3 << 30
TOLERANCE_MICRO = 1
"""In millionths: sums of ranks round."""


def case(size: Size) -> Case:
    """Whole processes, from `h5ad` to the pairs: ours verified, NumPy's not."""
    shape = size.pick(Cells(cells=3000, genes=300), Cells(cells=100_000, genes=5000))
    path = cells_h5ad(size.folder, shape)
    with h5py.File(path) as file:
        nonzeros = len(file["X/data"])
    density = nonzeros / (shape.cells * shape.genes)
    job = Job(
        workload="correlate",
        inputs=(path,),
        parameters={"method": "spearman", "min_abs_score": MIN_ABS_SCORE},
    )
    return Case(
        name=f"{shape.cells} cells x {shape.genes} genes, {100 * density:.0f} % not zero, spearman",
        contestants=(ours.command(job, scores_of_pairs.of_text), dense(path)),
        bars=(
            Ratio(
                ours=ours.COMMAND, peer=DENSE, at_least=5.0, text="5x dense NumPy, whole processes"
            ),
            MemoryLimit(
                ours=ours.COMMAND, below_bytes=MEMORY_BYTES, text="at most 3 GiB for the command"
            ),
        ),
        amount=float(shape.genes * (shape.genes - 1) // 2),
        unit="pairs",
        inputs=(path,),
        same=scores_of_pairs.same(MIN_ABS_SCORE, TOLERANCE_MICRO),
    )


def dense(path: Path) -> Contestant:
    """`scipy.stats.rankdata`, then the product of the standardised ranks with themselves."""

    def work(folder: Path) -> Sample:
        words = [str(path), str(folder), str(MIN_ABS_SCORE)]
        command = [sys.executable, whole_process.__file__, "spearman", *words]
        return limits.run(command, assemblers.UNLIMITED_BYTES)

    return Contestant(
        name=DENSE,
        how="python whole_process.py spearman: rankdata of each gene, ranks @ ranks.T in doubles",
        work=work,
        answer=_of_arrays,
        repeats_max=3,
    )


def _of_arrays(folder: Path) -> Answer:
    rows = np.load(folder / "pairs.npy").tolist()
    return scores_of_pairs.answer({(int(row[0]), int(row[1])): int(row[2]) for row in rows})
