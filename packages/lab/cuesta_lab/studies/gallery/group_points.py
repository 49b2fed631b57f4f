"""Group points into ten around their means: `group_points.py TOOL POINTS ANSWER THREADS`.

Ten iterations of Lloyd from the first ten points; the answer has a row for each coordinate of a
centre.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

CLUSTERS = 10
ITERATIONS = 10


def with_cuesta(points: str, answer: str, threads: str) -> None:
    """Group with `cuesta run kmeans`, which verifies its answer."""
    words = ["--clusters", str(CLUSTERS), "--iterations", str(ITERATIONS), "--init", "first"]
    command = ["run", "kmeans", points, *words, "--threads", threads, "-o", "grouped"]
    subprocess.run([sys.executable, "-m", "cuesta", *command], check=True)
    lines = Path("grouped", "centres.tsv").read_text(encoding="ascii").splitlines()
    rows = [line.split("\t") for line in lines if line and line[0].isdigit()]
    _write(answer, ([float(cell) for cell in row[-_dimensions(points) :]] for row in rows))


def with_sklearn(points: str, answer: str, threads: str) -> None:
    """Group with scikit-learn."""
    import numpy as np
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # In single precision its centres are not equal to those of the others.
    table = np.load(points).astype(np.float64)
    with threadpool_limits(int(threads)):
        model = KMeans(CLUSTERS, init=table[:CLUSTERS], n_init=1, max_iter=ITERATIONS, tol=0.0).fit(
            table
        )
    _write(answer, model.cluster_centers_.tolist())


def with_numpy(points: str, answer: str, _threads: str) -> None:
    """Group with matrix products in double precision, on as many cores as BLAS takes."""
    import numpy as np

    table = np.load(points).astype(np.float64)
    centres = table[:CLUSTERS].copy()
    blocks = np.array_split(table, max(1, len(table) // 100_000))
    for _ in range(ITERATIONS):
        sums = np.zeros_like(centres)
        counts = np.zeros(CLUSTERS)
        for block in blocks:
            distances = (centres**2).sum(axis=1) - 2 * block @ centres.T
            nearest = distances.argmin(axis=1)
            np.add.at(sums, nearest, block)
            counts += np.bincount(nearest, minlength=CLUSTERS)
        filled = counts > 0
        centres[filled] = sums[filled] / counts[filled, None]
    _write(answer, centres.tolist())


def _dimensions(points: str) -> int:
    import numpy as np

    return int(np.load(points, mmap_mode="r").shape[1])


def _write(answer: str, centres: Iterable[Sequence[float]]) -> None:
    with open(answer, "w", encoding="ascii", newline="") as written:  # noqa: PTH123
        writer = csv.writer(written)
        writer.writerow(["cluster", "dimension", "value"])
        for cluster, centre in enumerate(centres):
            writer.writerows([cluster, number, value] for number, value in enumerate(centre))


TOOLS = {"cuesta": with_cuesta, "sklearn": with_sklearn, "numpy": with_numpy}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](*sys.argv[2:])
