"""All pairs of genes correlated, against the machine's rate of matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches import ours, single_cells, text_pairs
from cuesta.data.obtain import cache_folder, obtain
from cuesta.data.registry import dataset
from harness import native, scores_of_pairs
from harness.data import Matrix, matrix_text
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import numpy_arrays

PRODUCT = "sgemm"
MULTIPLY = "cuesta"
WHOLE = "cuesta with reading"
NUMPY = "numpy"
TOLERANCE_MICRO = 5
"""Single precision of a product of some hundred samples, in millionths."""


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Shape of the correlated matrix; the threshold keeps the answer small."""

    name: str
    path: Path
    min_abs_score: float


def cases(size: Size) -> Iterator[Case]:
    """Real tumours, a synthetic matrix of the paper's number of samples, and single cells."""
    for correlation in inputs(size):
        yield case(correlation, size.pick(512, 4096))
    yield single_cells.case(size)
    yield text_pairs.case(size)


def inputs(size: Size) -> Iterator[Correlation]:
    """The smoke size needs no download."""
    if size.smoke:
        small = matrix_text(size.folder, Matrix(genes=600, samples=64))
        yield Correlation(name="600 x 64", path=small, min_abs_score=0.9)
        return
    (nci60,) = obtain(dataset("nci60"), cache_folder(), lambda _done, _total: None)
    yield Correlation(name="NCI60, 6830 x 64", path=nci60, min_abs_score=0.8)
    large = matrix_text(size.folder, Matrix(genes=20_000))
    yield Correlation(name="20000 x 475", path=large, min_abs_score=0.95)


def case(correlation: Correlation, product_size: int) -> Case:
    """Our product against OpenBLAS on a square, and against NumPy on the same matrix."""
    expressions = numpy_arrays.expression(correlation.path)
    genes, samples = expressions.shape
    multiply = numpy_arrays.square_product(product_size)
    job = Job(
        workload="correlate",
        inputs=(correlation.path,),
        parameters={"method": "pearson", "min_abs_score": correlation.min_abs_score},
    )
    scores = {"min_abs_score": correlation.min_abs_score, "expressions": expressions}
    return Case(
        name=correlation.name,
        contestants=(
            ours_multiply(job),
            ours.cuesta(job, scores_of_pairs.of_text, WHOLE),
            Contestant(
                name=PRODUCT,
                how=f"OpenBLAS through NumPy, {product_size} x {product_size}, single precision",
                work=lambda _: multiply(),
                amount=2.0 * product_size**3,
            ),
            registers(float(samples) * genes * (genes - 1)),
            numpy(scores),
        ),
        bars=(
            Ratio(
                ours=MULTIPLY,
                peer=PRODUCT,
                at_least=0.6,
                text="0.6 of the single-precision GEMM rate",
            ),
            Ratio(
                ours=WHOLE,
                peer=PRODUCT,
                at_least=None,
                text="the same with reading the matrix, shown",
            ),
            Ratio(ours=MULTIPLY, peer=NUMPY, at_least=None, text="NumPy in memory, shown"),
        ),
        amount=float(samples) * genes * (genes - 1),
        unit="flop",
        inputs=(correlation.path,),
        same=scores_of_pairs.same(correlation.min_abs_score, TOLERANCE_MICRO),
    )


def ours_multiply(job: Job) -> Contestant:
    """Our run without reading text: standardise, multiply, filter, write the pairs that pass."""

    def work(folder: Path) -> Sample:
        phases = native.run(job, folder)["phases"]
        seconds = [phase["seconds"] for phase in phases if phase["name"] in ("prepare", "multiply")]
        return Sample(seconds=sum(seconds))

    return Contestant(
        name=MULTIPLY,
        how=f"{job.text}; the phases `prepare` and `multiply`",
        work=work,
        answer=scores_of_pairs.of_text,
    )


def registers(flops: float) -> Contestant:
    """Multiply-adds on registers alone: what no product of matrices can reach."""
    return Contestant(
        name="multiply-adds",
        how="2 threads, fused multiply-adds on registers, no memory",
        work=lambda _: native.multiply_adds(flops),
    )


def numpy(scores: dict[str, Any]) -> Contestant:
    """Standardise, multiply block by block, take what scores enough; all of it in memory."""
    columns: list[Any] = []

    def work(_: Path) -> None:
        columns[:] = numpy_arrays.correlate(scores["expressions"], scores["min_abs_score"])

    def answer(_: Path) -> Answer:
        genes1, genes2, values = columns
        micro = np.rint(values.astype(float) * 1e6).astype(int)
        pairs = zip((genes1 + 1).tolist(), (genes2 + 1).tolist(), strict=True)
        return scores_of_pairs.answer(dict(zip(pairs, micro.tolist(), strict=True)))

    return Contestant(
        name=NUMPY,
        how="standardise, blocks of 2048 rows @ rows up to them, nonzero(abs >= bound)",
        work=work,
        answer=answer,
    )
