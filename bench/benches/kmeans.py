"""Ten of Lloyd's iterations on HiBench-like points, against scikit-learn and Spark MLlib."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benches import engines, ours
from cuesta.engines import Engine, get_engine
from harness import native
from harness.data import Points, points_array
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import sklearn_cluster, spark_mllib, spark_sql

CLUSTERS = 10
ITERATIONS = 10
SHAPE = (CLUSTERS, ITERATIONS)
PASSES = "cuesta in memory"
SKLEARN = "scikit-learn"
SKLEARN_FIT = "scikit-learn in memory"
MEMORY = "memory passes"
ARITHMETIC = "multiply-adds"
MLLIB = "spark mllib"
ENGINE = "cuesta spark"
TOLERANCE = 1e-4
"""Tolerance, by the largest coordinate: scikit-learn sums single-precision points in it."""


def cases(size: Size) -> Iterator[Case]:
    """A case: from the file to the files of the answer, and the iterations alone."""
    path = points_array(size.folder, Points(rows=size.pick(20_000, 4_000_000)))
    points = np.load(path)
    job = Job(
        workload="kmeans",
        inputs=(path,),
        parameters={"clusters": CLUSTERS, "iterations": ITERATIONS},
    )
    reasons = {
        ENGINE: size.left_out("spark") or engines.missing("spark"),
        MLLIB: size.left_out("spark") or spark_sql.missing(),
    }
    absent = {name: why for name, why in reasons.items() if why}
    engine = None if ENGINE in absent else get_engine("spark")
    flops = 2.0 * points.size * CLUSTERS * ITERATIONS
    yield Case(
        name=f"{len(points) / 1e6:g} M x {points.shape[1]} float32, k = {CLUSTERS}",
        contestants=(
            ours.cuesta(job, our_centres),
            in_memory(job),
            scikit_learn(path),
            scikit_learn_in_memory(points),
            memory_passes(points.nbytes),
            Contestant(
                name=ARITHMETIC,
                how="the iterations' products on registers, 2 threads, no memory",
                work=lambda _: native.multiply_adds(flops),
            ),
            *on_spark(job, engine, None if MLLIB in absent else path),
        ),
        bars=bars(),
        amount=float(points.nbytes) * ITERATIONS,
        unit="B",
        inputs=(path,),
        absent=absent,
        same=same_centres,
    )
    if engine:
        engines.close(engine)


def bars() -> tuple[Ratio, ...]:
    """The bars of the issue, and how near the iterations are to what bounds them."""
    return (
        Ratio(ours=ours.CUESTA, peer=SKLEARN, at_least=3.0, text="3x scikit-learn, file to file"),
        Ratio(ours=PASSES, peer=SKLEARN_FIT, at_least=3.0, text="3x scikit-learn, in memory"),
        Ratio(ours=PASSES, peer=MLLIB, at_least=30.0, text="30x Spark MLlib, in memory"),
        Ratio(ours=ENGINE, peer=MLLIB, at_least=None, text="our kernels on Spark, shown"),
        Ratio(ours=PASSES, peer=MEMORY, at_least=None, text="fraction of the memory ceiling"),
        Ratio(ours=PASSES, peer=ARITHMETIC, at_least=None, text="fraction of the FLOP ceiling"),
    )


def in_memory(job: Job) -> Contestant:
    """The iterations of our run, and the assignment at last, which a fit has too."""

    def work(folder: Path) -> Sample:
        phases = native.run(job, folder)["phases"]
        counted = [
            phase["seconds"] for phase in phases if phase["name"].startswith(("iter", "assign"))
        ]
        return Sample(seconds=sum(counted))

    return Contestant(
        name=PASSES,
        how=f"{job.text}; the phases `iteration` and `assign`",
        work=work,
        answer=our_centres,
    )


def scikit_learn(path: Path) -> Contestant:
    """`numpy.load`, `KMeans.fit`, `numpy.save`."""
    return Contestant(
        name=SKLEARN,
        how="numpy.load; KMeans(algorithm='lloyd', init=first points, tol=0).fit; numpy.save",
        work=lambda folder: sklearn_cluster.from_file(path, SHAPE, folder),
        answer=their_centres,
        repeats_max=5,
    )


def scikit_learn_in_memory(points: Any) -> Contestant:
    """`KMeans.fit` alone."""
    return Contestant(
        name=SKLEARN_FIT,
        how="KMeans(algorithm='lloyd', init=first points, tol=0).fit on an array in memory",
        work=lambda folder: Sample(seconds=sklearn_cluster.seconds(points, SHAPE, folder)),
        answer=their_centres,
        repeats_max=5,
    )


def memory_passes(size_bytes: int) -> Contestant:
    """A loop over as much memory that only adds: the ceiling of iterations on few clusters."""
    return Contestant(
        name=MEMORY,
        how=f"{ITERATIONS} passes over as much memory, 2 threads, adding up what is there",
        work=lambda _: native.memory_pass(size_bytes, ITERATIONS),
    )


def on_spark(job: Job, engine: Engine | None, path: Path | None) -> Iterator[Contestant]:
    """Our engine, then MLlib, which takes the session that the engine has started."""
    if engine:
        how = "the Rust kernel on ranges of the file inside mapInArrow; session up"
        yield engines.contestant(engine, job, our_centres, how)
    if path is None:
        return
    cached: list[Any] = []

    def work(folder: Path) -> Sample:
        if not cached:
            cached.append(spark_mllib.vectors(path))
        first = np.load(path, mmap_mode="r")[:CLUSTERS]
        return Sample(seconds=spark_mllib.seconds(cached[0], first, ITERATIONS, folder))

    yield Contestant(
        name=MLLIB,
        how="mllib KMeans.setInitialModel(first points).run on a cached RDD of vectors; session up",
        work=work,
        answer=their_centres,
        repeats_max=3,
    )


def same_centres(answer: Answer, other: Answer) -> str | None:
    """Compares centres to `TOLERANCE`."""
    largest = np.abs(answer.values).max()
    apart = np.abs(answer.values - other.values).max()
    return f"centres are {apart} apart" if apart > TOLERANCE * largest else None


def same_clustering(path: Path, answer: Answer, other: Answer) -> str | None:
    """Compares centres to `TOLERANCE`, or else sums of squares to the same.

    In single precision a point between two centres may go to either, and moves both.
    """
    if not same_centres(answer, other):
        return None
    points = np.load(path, mmap_mode="r")
    one, two = (sum_of_squares(points, each.values) for each in (answer, other))
    apart = abs(one - two) / one
    return f"sums of squares are {apart:.2g} of one apart" if apart > TOLERANCE else None


def sum_of_squares(points: Any, centres: Any) -> float:
    """Sum over all points of the squared distance to the nearest centre."""
    total, norms = 0.0, (centres**2).sum(axis=1)
    for begin in range(0, len(points), 1 << 16):
        part = np.asarray(points[begin : begin + (1 << 16)], dtype=float)
        nearest = (norms - 2 * (part @ centres.T)).min(axis=1)
        total += float((nearest + (part**2).sum(axis=1)).sum())
    return total


def our_centres(folder: Path) -> Answer:
    """Answer of `centres.tsv`."""
    return _answer(np.loadtxt(folder / "centres.tsv", skiprows=1)[:, 3:])


def their_centres(folder: Path) -> Answer:
    """Answer of `centres.npy`."""
    return _answer(np.load(folder / "centres.npy"))


def _answer(centres: Any) -> Answer:
    shape = f"{len(centres)} centres of {centres.shape[1]} numbers"
    return Answer(digest=shape, rows=len(centres), values=np.asarray(centres, dtype=float))
