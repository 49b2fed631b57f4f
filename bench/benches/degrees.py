"""In, out and total degree of every gene of 1 GB of gene-pair text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benches import ours, rows
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, Ratio
from harness.native import Job
from harness.size import Size
from peers import duckdb_sql, numpy_arrays, polars_frames


def cases(size: Size) -> Iterator[Case]:
    """The network at a threshold, then all of it."""
    path = pairs_text(size.folder, Pairs(genes=size.pick(200, 2000)))
    for min_abs_score in (0.5, 0.0):
        job = Job(workload="degrees", inputs=(path,), parameters={"min_abs_score": min_abs_score})
        yield Case(
            name=f"|score| >= {min_abs_score}" if min_abs_score else "all rows",
            contestants=(
                ours.cuesta(job, lambda folder: rows.degrees(folder / "degrees.tsv", header=True)),
                ours.plain_read(path),
                duckdb(path, min_abs_score),
                duckdb_numpy(path, min_abs_score),
                polars(path, min_abs_score),
            ),
            bars=(
                Ratio(ours=ours.CUESTA, peer="duckdb", at_least=4.0, text="4x DuckDB"),
                Ratio(
                    ours=ours.CUESTA,
                    peer="duckdb + numpy",
                    at_least=4.0,
                    text="4x DuckDB + NumPy",
                ),
            ),
            amount=float(path.stat().st_size),
            unit="B",
            inputs=(path,),
        )


def duckdb(path: Path, min_abs_score: float) -> Contestant:
    """Two `GROUP BY` over the edges, read once."""
    connection = duckdb_sql.connect()
    query = duckdb_sql.degrees(duckdb_sql.text(path), min_abs_score)
    return Contestant(
        name="duckdb",
        how=duckdb_sql.shown(f"COPY ({query}) TO degrees.tsv", path),
        work=lambda folder: duckdb_sql.to_text(connection, query, folder / "degrees.tsv"),
        answer=_answer,
    )


def duckdb_numpy(path: Path, min_abs_score: float) -> Contestant:
    """Edges by DuckDB into arrays, which NumPy counts."""
    connection = duckdb_sql.connect()
    query = duckdb_sql.edges(duckdb_sql.text(path), min_abs_score)

    def work(folder: Path) -> None:
        edges = duckdb_sql.to_arrays(connection, query)
        numpy_arrays.degrees(edges["gene1"], edges["gene2"], folder / "degrees.tsv")

    return Contestant(
        name="duckdb + numpy",
        how=duckdb_sql.shown(f"{query}; bincount", path),
        work=work,
        answer=_answer,
    )


def polars(path: Path, min_abs_score: float) -> Contestant:
    """Both ends of every edge in one `group_by`."""
    frame = polars_frames.degrees(polars_frames.text(path), min_abs_score)
    return Contestant(
        name="polars",
        how="scan_csv().filter(), concat of both ends, group_by(gene).sum(), sink_csv",
        work=lambda folder: polars_frames.to_text(frame, folder / "degrees.tsv"),
        answer=_answer,
    )


def _answer(folder: Path) -> Answer:
    return rows.degrees(folder / "degrees.tsv")
