"""Communities of a correlation network by Leiden, from text to a table."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benches import ours
from harness import limits, native, packages
from harness.data import Matrix, matrix_text
from harness.model import Answer, Case, Contestant, Quality, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import communities_graph
from peers.assemblers import UNLIMITED_BYTES

MODULARITY = "modularity"
LEIDENALG, NETWORKIT, TEN_SEEDS = "leidenalg", "networkit", "leidenalg, best of ten"
QUALITY_PART = 0.995
"""Least modularity of ours, as a part of leidenalg's best of ten seeds."""


def cases(size: Size) -> Iterator[Case]:
    """The network of a matrix at two thresholds."""
    for min_abs_score in size.pick((0.5,), (0.8, 0.6)):
        yield case(size, min_abs_score)


def case(size: Size, min_abs_score: float) -> Case:
    """Ours verified, whole processes all."""
    shape = Matrix(genes=size.pick(600, 20_000), samples=size.pick(64, 50))
    path = edges_text(size, shape, min_abs_score)
    edges = communities_graph.edges_of(path)
    job = Job(workload="communities", inputs=(path,), parameters={"method": "leiden"})
    seeds = {LEIDENALG: (LEIDENALG, 1), TEN_SEEDS: (LEIDENALG, 10), NETWORKIT: (NETWORKIT, 1)}
    absent = {name: why for name, (package, _) in seeds.items() if (why := missing(size, package))}
    peers = [peer(path, edges, name, *seeds[name]) for name in seeds if name not in absent]

    def command(folder: Path) -> Sample:
        return judged(native.command(job, folder), folder / "answer", edges)

    return Case(
        name=f"Leiden, {shape.genes} genes, {len(edges)} edges",
        contestants=(
            Contestant(
                name=ours.COMMAND,
                how=f"the whole process, verified: {job.text}",
                work=command,
                answer=lambda folder: genes_of(folder / "answer"),
            ),
            *peers,
        ),
        bars=(
            Ratio(ours=ours.COMMAND, peer=LEIDENALG, at_least=3.0, text="3x leidenalg"),
            Ratio(ours=ours.COMMAND, peer=NETWORKIT, at_least=None, text="NetworKit, shown"),
            Quality(
                ours=ours.COMMAND,
                peers=(TEN_SEEDS,),
                name=MODULARITY,
                text=f"modularity at least {QUALITY_PART} of leidenalg's best of ten seeds",
                holds=lambda figure, best: figure >= QUALITY_PART * max(best),
            ),
        ),
        amount=float(len(edges)),
        unit="edges",
        inputs=(path,),
        absent=absent,
        repeats_max=5,
    )


def missing(size: Size, package: str) -> str | None:
    """Why a package does not take part, or None."""
    return packages.missing(package) or size.left_out(package)


def peer(path: Path, edges: Any, name: str, package: str, seeds: int) -> Contestant:
    """A process of the package."""
    python = str(packages.python_with(package))

    def work(folder: Path) -> Sample:
        words = [python, communities_graph.__file__, package, str(path), str(folder), str(seeds)]
        return judged(limits.run(words, UNLIMITED_BYTES), folder, edges)

    how = {LEIDENALG: "ModularityVertexPartition, two iterations", NETWORKIT: "ParallelLeiden"}
    return Contestant(
        name=name,
        how=f"pyarrow's reader, {how[package]}, {seeds} seeds" if seeds > 1 else
            f"pyarrow's reader, {how[package]}",
        work=work,
        answer=genes_of,
        repeats_max=1 if seeds > 1 else 5,
    )  # fmt: skip


def edges_text(size: Size, shape: Matrix, min_abs_score: float) -> Path:
    """The edges of a matrix as text, `gene1 gene2 score`, made if they are not there."""
    matrix = matrix_text(size.folder, shape)
    path = matrix.with_name(f"edges-{shape.genes}x{shape.samples}-{min_abs_score}.tsv")
    if not path.exists():
        parameters = {"method": "pearson", "min_abs_score": min_abs_score}
        job = Job(workload="correlate", inputs=(matrix,), parameters=parameters)
        with tempfile.TemporaryDirectory(prefix="partial-", dir=size.folder) as folder:
            made = Path(folder)
            native.run(job, made)
            with (
                (made / "pairs.txt").open(encoding="utf-8") as pairs,
                (made / "edges").open("w", encoding="utf-8") as out,
            ):
                out.write("gene1\tgene2\tscore\n")
                rows = (line.split("\t") for line in pairs)
                out.writelines(f"{row[0]}\t{row[1]}\t{row[9]}\n" for row in rows)
            (made / "edges").rename(path)
    return path


def judged(sample: Sample, folder: Path, edges: Any) -> Sample:
    """The sample with the modularity of its communities."""
    return replace(sample, figures={MODULARITY: modularity(edges, table_of(folder))})


def table_of(folder: Path) -> Any:
    """Rows of gene, as the edges name it, and community."""
    lines = (folder / "communities.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line[0].isdigit()]
    # Ours numbers the genes anew; their names are in the last column.
    return np.array([(row[-1], row[1]) if row[2:] else row for row in rows], dtype=np.int64)


def genes_of(folder: Path) -> Answer:
    """The genes that are in a community: what all answers have in common."""
    genes = table_of(folder)[:, 0]
    return Answer(digest=f"{len(genes)} genes, sum {genes.sum()}", rows=len(genes))


def modularity(edges: Any, table: Any) -> float:
    """The modularity of a grouping, every edge once."""
    labels = np.zeros(int(edges.max()) + 1, dtype=np.int64)
    labels[table[:, 0] - 1] = np.unique(table[:, 1], return_inverse=True)[1]
    ends = labels[edges]
    inside = np.count_nonzero(ends[:, 0] == ends[:, 1]) / len(edges)
    shares = np.bincount(ends.ravel()) / ends.size
    return float(inside - (shares**2).sum())
