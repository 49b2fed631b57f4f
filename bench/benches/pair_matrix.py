"""Scans of the loaded pair matrix, in pairs a second, and the cost of loading."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import engines, ours, rows
from cuesta.engines import get_engine
from cuesta.native import native_module
from harness import native
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, DifferentAnswer, Ratio
from harness.native import Job
from harness.size import Size
from peers import duckdb_sql

TEXT = "cuesta on text"
MATRIX_FILE = "pairs.zarr"


def cases(size: Size) -> Iterator[Case]:
    """Loading, then the scan at two thresholds."""
    pairs = Pairs(genes=size.pick(200, 2000))
    path = pairs_text(size.folder, pairs)
    yield loading(path)
    loaded = size.folder / f"{path.stem}.zarr"
    load_into(path, loaded)
    parquet = path.with_suffix(".parquet")
    if not parquet.exists():
        duckdb_sql.to_parquet(duckdb_sql.connect(), duckdb_sql.text(path), parquet)
    why = size.left_out("array") or engines.missing("array")
    forms = Forms(text=path, matrix=loaded, parquet=parquet, count=pairs.rows)
    for min_abs_score in (0.8, 0.5):
        yield scan(forms, min_abs_score, why)


def loading(path: Path) -> Case:
    """Text to each binary form."""
    connection = duckdb_sql.connect()
    job = Job(workload="load", inputs=(path,), parameters={})

    def verified(folder: Path) -> Answer:
        return Answer(digest=verify(job, folder), rows=0)

    return Case(
        name="load",
        contestants=(
            ours.cuesta(job, verified),
            ours.plain_read(path),
            Contestant(
                name="duckdb to parquet",
                how="COPY (SELECT * FROM read_csv(...)) TO pairs.parquet",
                work=lambda folder: duckdb_sql.to_parquet(
                    connection, duckdb_sql.text(path), folder / "pairs.parquet"
                ),
            ),
        ),
        bars=(
            Ratio(
                ours=ours.CUESTA,
                peer="duckdb to parquet",
                at_least=3.0,
                text="3x DuckDB to Parquet",
            ),
            shown(ours.READ, "a plain 2-thread pread, shown"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        repeats_max=3,
    )


@dataclass(frozen=True, kw_only=True)
class Forms:
    """The files of the same pairs: text, pair matrix and Parquet; `count` is their number."""

    text: Path
    matrix: Path
    parquet: Path
    count: int


def scan(forms: Forms, min_abs_score: float, no_array: str | None) -> Case:
    """The scan on text, on the pair matrix, on Parquet and on TileDB."""
    text, matrix, parquet = forms.text, forms.matrix, forms.parquet
    parameters = {"min_abs_score": min_abs_score}
    on_text = Job(workload="scan", inputs=(text,), parameters=parameters)
    on_matrix = Job(workload="scan", inputs=(matrix,), parameters=parameters)
    connection = duckdb_sql.connect()
    query = duckdb_sql.scan(duckdb_sql.parquet(parquet), min_abs_score)
    contestants = [
        ours.cuesta(on_matrix, _answer),
        ours.cuesta(on_text, _answer, TEXT),
        Contestant(
            name="duckdb on parquet",
            how=duckdb_sql.shown(f"COPY ({query}) TO pairs.txt", parquet),
            work=lambda folder: duckdb_sql.to_text(connection, query, folder / "pairs.txt"),
            answer=_answer,
        ),
    ]
    if not no_array:
        how = "query condition on the loaded TileDB array; loading not timed"
        contestants.append(engines.contestant(get_engine("array"), on_text, _answer, how))
    return Case(
        name=f"scan, |score| >= {min_abs_score}",
        contestants=tuple(contestants),
        bars=(
            Ratio(
                ours=ours.CUESTA,
                peer=TEXT,
                at_least=10.0,
                text="10x the text scan in pairs/s",
            ),
            shown("duckdb on parquet", "DuckDB on Parquet, shown"),
            shown("cuesta array", "TileDB, shown"),
        ),
        amount=float(forms.count),
        unit="pairs",
        inputs=(text, matrix, parquet),
        absent={"cuesta array": no_array} if no_array else {},
    )


def shown(peer: str, text: str) -> Ratio:
    """A row without a bar."""
    return Ratio(ours=ours.CUESTA, peer=peer, at_least=None, text=text)


def load_into(path: Path, loaded: Path) -> None:
    """Convert the text once, for the scans; an existing matrix may be of another version."""
    shutil.rmtree(loaded, ignore_errors=True)
    partial = loaded.with_name(f"partial-{loaded.name}")
    partial.mkdir(exist_ok=True)
    native.run(Job(workload="load", inputs=(path,), parameters={}), partial)
    (partial / MATRIX_FILE).rename(loaded)
    partial.rmdir()


def verify(job: Job, folder: Path) -> str:
    """The digest of our answer, by another method. Errors: `DifferentAnswer`."""
    checked = json.loads(native_module().verify(job.workload, native.request(job, folder)))
    if not checked["verified"]:
        raise DifferentAnswer(f"{job.text}: {checked['digest']}, not {checked['expected']}")
    return str(checked["digest"])


def _answer(folder: Path) -> Answer:
    return rows.pairs(folder / "pairs.txt")
