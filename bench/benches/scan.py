"""Filter 1 GB of gene-pair text, warm, and write the rows that pass."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benches import ours, rows
from harness import native
from harness.data import Pairs, pairs_text
from harness.model import Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import duckdb_sql, polars_frames

READ_AND_WRITE = "plain read and write"
MIN_ABS_SCORES = (0.8, 0.5)


def cases(size: Size) -> Iterator[Case]:
    """A case for each threshold; the first has the bars."""
    pairs = Pairs(genes=size.pick(200, 2000))
    path = pairs_text(size.folder, pairs)
    for min_abs_score in MIN_ABS_SCORES:
        job = Job(workload="scan", inputs=(path,), parameters={"min_abs_score": min_abs_score})
        yield Case(
            name=f"|score| >= {min_abs_score}",
            contestants=(
                ours.cuesta(job, lambda folder: rows.pairs(folder / "pairs.txt")),
                ours.plain_read(path),
                read_and_write(job, path),
                duckdb(path, min_abs_score),
                polars(path, min_abs_score),
                ours.command(job, lambda folder: rows.pairs(folder / "pairs.txt")),
            ),
            bars=bars(),
            amount=float(path.stat().st_size),
            unit="B",
            inputs=(path,),
        )


def bars() -> tuple[Ratio, ...]:
    """Bars of the scan."""
    return (
        Ratio(ours=ours.CUESTA, peer="duckdb", at_least=4.0, text="4x DuckDB"),
        Ratio(
            ours=ours.CUESTA,
            peer=ours.READ,
            at_least=0.8,
            text="0.8 of a plain 2-thread pread",
        ),
        Ratio(
            ours=ours.CUESTA,
            peer=READ_AND_WRITE,
            at_least=None,
            text="plain pread and one write of the answer, shown",
        ),
    )


def read_and_write(job: Job, path: Path) -> Contestant:
    """The plain read and, after it, one write of the answer: what no scan can do without."""
    folder = Path(tempfile.mkdtemp(dir=path.parent))
    native.run(job, folder)
    answer_bytes = (folder / "pairs.txt").read_bytes()
    shutil.rmtree(folder)

    def work(folder: Path) -> Sample:
        started = time.perf_counter()
        (folder / "pairs.txt").write_bytes(answer_bytes)
        written = time.perf_counter() - started
        return Sample(seconds=native.read_warm(path).seconds + written)

    return Contestant(
        name=READ_AND_WRITE, how="plain read, then the answer's bytes written at once", work=work
    )


def duckdb(path: Path, min_abs_score: float) -> Contestant:
    """`COPY (SELECT * ... WHERE ...) TO`."""
    connection = duckdb_sql.connect()
    query = duckdb_sql.scan(duckdb_sql.text(path), min_abs_score)
    return Contestant(
        name="duckdb",
        how=duckdb_sql.shown(f"COPY ({query}) TO pairs.txt", path),
        work=lambda folder: duckdb_sql.to_text(connection, query, folder / "pairs.txt"),
        answer=lambda folder: rows.pairs(folder / "pairs.txt"),
    )


def polars(path: Path, min_abs_score: float) -> Contestant:
    """`scan_csv(...).filter(...).sink_csv(...)`."""
    frame = polars_frames.scan(polars_frames.text(path), min_abs_score)
    return Contestant(
        name="polars",
        how="scan_csv(schema=...).filter(abs(score) in range).sink_csv(engine='streaming')",
        work=lambda folder: polars_frames.to_text(frame, folder / "pairs.txt"),
        answer=lambda folder: rows.pairs(folder / "pairs.txt"),
    )
