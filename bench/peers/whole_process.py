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
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

RECORD_BYTES = 100
THREADS = 2


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


def scan_polars(path: Path, folder: Path, min_abs_score: str) -> None:
    """Polars' streaming sink of the rows that pass."""
    from peers import polars_frames

    rows = polars_frames.scan(polars_frames.text(path), float(min_abs_score))
    polars_frames.to_text(rows, folder / "pairs.txt")


def join_polars(left: Path, right: Path, folder: Path, min_abs_score: str) -> None:
    """Polars' streaming join, inner."""
    from peers import polars_frames

    frames = (polars_frames.text(left), polars_frames.text(right))
    rows = polars_frames.join(frames, float(min_abs_score), "inner")
    polars_frames.to_text(rows, folder / "pairs.tsv")


def degrees_polars(path: Path, folder: Path, min_abs_score: str) -> None:
    """Polars' streaming groups by gene."""
    from peers import polars_frames

    rows = polars_frames.degrees(polars_frames.text(path), float(min_abs_score))
    polars_frames.to_text(rows, folder / "degrees.tsv")


def load_polars(path: Path, folder: Path) -> None:
    """Polars' streaming sink of all rows to Parquet."""
    from peers import polars_frames

    polars_frames.text(path).sink_parquet(folder / "pairs.parquet", engine="streaming")


def scan_chdb(path: Path, folder: Path, min_abs_score: str) -> None:
    """ClickHouse's filter of the rows that pass."""
    from peers import chdb_sql

    chdb_sql.write(chdb_sql.passing(path, float(min_abs_score), "*"), folder / "pairs.txt")


def join_chdb(left: Path, right: Path, folder: Path, min_abs_score: str) -> None:
    """ClickHouse's join, inner."""
    from peers import chdb_sql

    chdb_sql.write(chdb_sql.join(left, right, float(min_abs_score)), folder / "pairs.tsv")


def degrees_chdb(path: Path, folder: Path, min_abs_score: str) -> None:
    """ClickHouse's groups by gene, in one pass."""
    from peers import chdb_sql

    chdb_sql.write(chdb_sql.degrees(path, float(min_abs_score)), folder / "degrees.tsv")


def load_chdb(path: Path, folder: Path) -> None:
    """ClickHouse's output of all rows to Parquet."""
    from peers import chdb_sql

    query = f"SELECT * FROM {chdb_sql.text(path)}"
    chdb_sql.write(query, folder / "pairs.parquet", "Parquet")


def scan_datafusion(path: Path, folder: Path, min_abs_score: str) -> None:
    """DataFusion's `COPY` of the rows that pass."""
    from peers import datafusion_sql

    query = datafusion_sql.passing("a", float(min_abs_score), "*")
    datafusion_sql.to_text(datafusion_sql.connect(a=path), query, folder / "pairs.txt")


def join_datafusion(left: Path, right: Path, folder: Path, min_abs_score: str) -> None:
    """DataFusion's hash join, inner."""
    from peers import datafusion_sql

    query = datafusion_sql.join(float(min_abs_score))
    datafusion_sql.to_text(datafusion_sql.connect(a=left, b=right), query, folder / "pairs.tsv")


def degrees_datafusion(path: Path, folder: Path, min_abs_score: str) -> None:
    """DataFusion's groups by gene."""
    from peers import datafusion_sql

    query = datafusion_sql.degrees(float(min_abs_score))
    datafusion_sql.to_text(datafusion_sql.connect(a=path), query, folder / "degrees.tsv")


def load_datafusion(path: Path, folder: Path) -> None:
    """DataFusion's `COPY` of all rows to Parquet."""
    from peers import datafusion_sql

    datafusion_sql.to_parquet(datafusion_sql.connect(a=path), "a", folder / "pairs.parquet")


def kmeans(path: Path, folder: Path, clusters: str, iterations: str) -> None:
    """scikit-learn's Lloyd from the first points."""
    from peers import sklearn_cluster

    sklearn_cluster.from_file(path, (int(clusters), int(iterations)), folder)


def kmeans_onedal(path: Path, folder: Path, clusters: str, iterations: str) -> None:
    """oneDAL's Lloyd from the first points, through scikit-learn's class."""
    from sklearnex import patch_sklearn

    patch_sklearn(verbose=False)
    kmeans(path, folder, clusters, iterations)


def kmeans_faiss(path: Path, folder: Path, clusters: str, iterations: str) -> None:
    """FAISS' Lloyd from the first points."""
    from peers import faiss_cluster

    faiss_cluster.from_file(path, (int(clusters), int(iterations)), folder)


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


def sort_duckdb(path: Path, folder: Path) -> None:
    """DuckDB's `ORDER BY` from Parquet to Parquet."""
    from peers import duckdb_sql

    connection = duckdb_sql.connect()
    rows = f"SELECT * FROM read_parquet('{path}') ORDER BY key"
    options = "(FORMAT parquet, COMPRESSION uncompressed)"
    connection.execute(f"COPY ({rows}) TO '{folder / 'sorted.parquet'}' {options}")


def sort_polars(path: Path, folder: Path) -> None:
    """Polars' streaming sort from Parquet to Parquet."""
    import polars as pl

    rows = pl.scan_parquet(path).sort("key")
    rows.sink_parquet(folder / "sorted.parquet", compression="uncompressed", engine="streaming")


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


def correlate(path: Path, folder: Path, min_abs_score: str) -> None:
    """NumPy's blocks of products of the standardised rows; Polars writes the pairs that pass."""
    import pandas as pd

    from peers import numpy_arrays

    values = pd.read_csv(path, sep="\t").to_numpy()
    genes1, genes2, scores = numpy_arrays.correlate(values, float(min_abs_score))
    _write_pairs(genes1 + 1, genes2 + 1, scores, folder)


def correlate_corals(path: Path, folder: Path, part: str) -> None:
    """CorALS' search for the strongest `part` of the pairs; NumPy writes them."""
    import numpy as np
    import pandas as pd
    from corals.correlation.topk.default import cor_topk

    values = np.ascontiguousarray(pd.read_csv(path, sep="\t").to_numpy().T)
    scores, (genes1, genes2) = cor_topk(values, k=float(part), n_jobs=THREADS)
    below = genes2 < genes1
    _write_pairs(genes1[below] + 1, genes2[below] + 1, scores[below], folder)


def _write_pairs(genes1: Any, genes2: Any, scores: Any, folder: Path) -> None:
    """Both genes, and the score with six digits."""
    import pandas as pd

    table = pd.DataFrame({"gene1": genes1, "gene2": genes2, "score": scores})
    try:
        import polars as pl
    except ImportError:
        table.to_csv(folder / "pairs.tsv", sep="\t", index=False, float_format="%.6f")
        return
    pl.from_pandas(table).write_csv(folder / "pairs.tsv", separator="\t", float_precision=6)


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job
    for job in (
        scan, scan_polars, scan_chdb, scan_datafusion,
        join, join_polars, join_chdb, join_datafusion,
        degrees, degrees_polars, degrees_chdb, degrees_datafusion,
        load, load_polars, load_chdb, load_datafusion,
        kmeans, kmeans_onedal, kmeans_faiss,
        sort, sort_duckdb, sort_polars, components, copy, spearman, correlate, correlate_corals,
    )
}  # fmt: skip
"""Jobs by name: `JOB` of the usual package, or `JOB_PACKAGE`."""


def main(words: Sequence[str]) -> int:
    """Do a job, then bring its files to the disk."""
    name, *rest = words
    paths = 3 if name.partition("_")[0] == "join" else 2
    folder = Path(rest[paths - 1])
    JOBS[name](*map(Path, rest[:paths]), *rest[paths:])
    for place in (*folder.iterdir(), folder):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
