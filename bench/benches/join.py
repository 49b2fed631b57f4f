"""Match two versions of 1 GB of gene-pair text on (gene1, gene2, cluster)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import ours, rows
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, Ratio
from harness.native import Job
from harness.size import Size
from peers import duckdb_sql, polars_frames


@dataclass(frozen=True, kw_only=True)
class Join:
    """The tables of a join."""

    inputs: tuple[Path, Path]
    min_abs_score: float
    how: str


def cases(size: Size) -> Iterator[Case]:
    """The pairs that score high in both, then every pair of either."""
    genes = size.pick(200, 2000)
    made = [pairs_text(size.folder, Pairs(genes=genes, variant=index)) for index in (0, 1)]
    inputs = (made[0], made[1])
    for min_abs_score, how in ((0.5, "inner"), (0.0, "outer")):
        join = Join(inputs=inputs, min_abs_score=min_abs_score, how=how)
        job = Job(
            workload="join",
            inputs=inputs,
            parameters={"min_abs_score": min_abs_score, "how": how},
        )
        yield Case(
            name=f"{how}, |score| >= {min_abs_score}" if min_abs_score else f"{how}, all rows",
            contestants=(
                ours.cuesta(job, lambda folder: rows.joined(folder / "pairs.tsv", header=True)),
                duckdb(join),
                polars(join),
            ),
            bars=(Ratio(ours=ours.CUESTA, peer="duckdb", at_least=4.0, text="4x DuckDB"),),
            amount=float(sum(path.stat().st_size for path in inputs)),
            unit="B",
            inputs=inputs,
        )


def duckdb(join: Join) -> Contestant:
    """A hash join; without the order that ours has."""
    connection = duckdb_sql.connect()
    tables = (duckdb_sql.text(join.inputs[0]), duckdb_sql.text(join.inputs[1]))
    query = duckdb_sql.join(tables, join.min_abs_score, join.how)
    return Contestant(
        name="duckdb",
        how=duckdb_sql.shown(f"COPY ({query}) TO pairs.tsv", join.inputs[0]),
        work=lambda folder: duckdb_sql.to_text(connection, query, folder / "pairs.tsv"),
        answer=_answer,
    )


def polars(join: Join) -> Contestant:
    """A hash join on the streaming engine; without the order that ours has."""
    frames = (polars_frames.text(join.inputs[0]), polars_frames.text(join.inputs[1]))
    frame = polars_frames.join(frames, join.min_abs_score, join.how)
    return Contestant(
        name="polars",
        how="scan_csv(A).filter().join(scan_csv(B).filter()).sink_csv(engine='streaming')",
        work=lambda folder: polars_frames.to_text(frame, folder / "pairs.tsv"),
        answer=_answer,
    )


def _answer(folder: Path) -> Answer:
    return rows.joined(folder / "pairs.tsv")
