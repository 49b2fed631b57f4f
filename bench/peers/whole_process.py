"""Jobs that a user would run instead of ours: a Python process a job, file to file.

    python bench/peers/whole_process.py JOB INPUT... FOLDER [WORD...]

Every job writes its answer into FOLDER and synchronises it with the disk, as ours does. It
imports only the packages that the job needs. Two threads, by an option of DuckDB and the usual
variables for the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

RECORD_BYTES = 100


def scan(path: Path, folder: Path, min_abs_score: str) -> None:
    """DuckDB's `COPY` of the rows that pass."""
    from peers import duckdb_sql

    query = duckdb_sql.scan(duckdb_sql.text(path), float(min_abs_score))
    duckdb_sql.to_text(duckdb_sql.connect(), query, folder / "pairs.txt")


def join(left: Path, right: Path, folder: Path, min_abs_score: str) -> None:
    """DuckDB's hash join, inner."""
    from peers import duckdb_sql

    tables = (duckdb_sql.text(left), duckdb_sql.text(right))
    query = duckdb_sql.join(tables, float(min_abs_score), "inner")
    duckdb_sql.to_text(duckdb_sql.connect(), query, folder / "pairs.tsv")


def degrees(path: Path, folder: Path, min_abs_score: str) -> None:
    """Edges by DuckDB, counted by NumPy."""
    from peers import duckdb_sql, numpy_arrays

    query = duckdb_sql.edges(duckdb_sql.text(path), float(min_abs_score))
    edges = duckdb_sql.to_arrays(duckdb_sql.connect(), query)
    numpy_arrays.degrees(edges["gene1"], edges["gene2"], folder / "degrees.tsv")


def components(path: Path, folder: Path, min_abs_score: str) -> None:
    """Edges by DuckDB, components by NetworKit."""
    from peers import duckdb_sql, networkit_graph, numpy_arrays

    query = duckdb_sql.edges(duckdb_sql.text(path), float(min_abs_score))
    edges = duckdb_sql.to_arrays(duckdb_sql.connect(), query)
    labels = networkit_graph.components(edges["gene1"], edges["gene2"])
    numpy_arrays.labels(labels, folder / "communities.tsv")


def load(path: Path, folder: Path) -> None:
    """DuckDB's `COPY` of all rows to Parquet."""
    from peers import duckdb_sql

    duckdb_sql.to_parquet(duckdb_sql.connect(), duckdb_sql.text(path), folder / "pairs.parquet")


def kmeans(path: Path, folder: Path, clusters: str, iterations: str) -> None:
    """scikit-learn's Lloyd from the first points."""
    from peers import sklearn_cluster

    sklearn_cluster.from_file(path, (int(clusters), int(iterations)), folder)


def sort(path: Path, folder: Path) -> None:
    """NumPy: load, sort stably by the ten bytes of the key, gather, write.

    The key as two whole numbers in `lexsort`: 2.5 times as fast as `argsort` of ten-byte strings.
    """
    import numpy as np

    records = np.fromfile(path, dtype=np.dtype((np.void, RECORD_BYTES)))
    columns = records.view(np.dtype({
        "names": ["high", "low"], "formats": [">u8", ">u2"], "offsets": [0, 8],
        "itemsize": RECORD_BYTES,
    }))  # fmt: skip
    order = np.lexsort((columns["low"].astype(np.uint16), columns["high"].astype(np.uint64)))
    records[order].tofile(folder / "sorted.dat")


def copy(path: Path, folder: Path) -> None:
    """Read and write on two threads: what no sort can do without."""
    from peers import plain_copy

    plain_copy.copy(path, folder / "sorted.dat")


def spearman(path: Path, folder: Path, min_abs_score: str) -> None:
    """SciPy's ranks of each gene of an `h5ad`, dense, and NumPy's product of these."""
    import anndata
    import numpy as np
    from scipy.stats import rankdata

    values = anndata.read_h5ad(path).X.tocsc()
    unit = np.empty(values.shape[::-1])
    for gene in range(values.shape[1]):
        unit[gene] = rankdata(values[:, [gene]].toarray()[:, 0])
    del values
    unit -= unit.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    unit /= np.where(lengths > 0, lengths, 1)
    scores = unit @ unit.T
    genes1, genes2 = np.nonzero(np.abs(scores) >= float(min_abs_score))
    below = genes2 < genes1
    genes1, genes2 = genes1[below], genes2[below]
    micro = np.rint(scores[genes1, genes2] * 1e6).astype(np.int64)
    np.save(folder / "pairs.npy", np.column_stack([genes1 + 1, genes2 + 1, micro]))


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job
    for job in (scan, join, degrees, components, load, kmeans, sort, copy, spearman)
}
INPUTS = {"join": 2}


def main(words: Sequence[str]) -> int:
    """Do a job, then bring its files to the disk."""
    name, *rest = words
    paths = INPUTS.get(name, 1) + 1
    folder = Path(rest[paths - 1])
    JOBS[name](*map(Path, rest[:paths]), *rest[paths:])
    for place in (*folder.iterdir(), folder):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
