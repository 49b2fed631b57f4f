"""The scan of 1 GB of text on Spark: our kernel inside its tasks against its own CSV reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benches import engines, ours, rows
from harness.data import Pairs, pairs_text
from harness.model import Case, Contestant, Ratio
from harness.native import Job
from harness.size import Size
from peers import spark_sql

MIN_ABS_SCORE = 0.8
ENGINE = "cuesta spark"


def cases(size: Size) -> Iterator[Case]:
    """One case; both sides share a session, which is up."""
    path = pairs_text(size.folder, Pairs(genes=size.pick(200, 2000)))
    job = Job(workload="scan", inputs=(path,), parameters={"min_abs_score": MIN_ABS_SCORE})
    absent = {
        name: why
        for name, why in (
            (ENGINE, size.left_out("spark") or engines.missing("spark")),
            ("spark sql", size.left_out("spark") or spark_sql.missing()),
        )
        if why
    }
    found = [ours.cuesta(job, lambda folder: rows.pairs(folder / "pairs.txt"))]
    if ENGINE not in absent:
        how = "the Rust kernel on splits inside mapInArrow; session up"
        found.append(
            engines.contestant("spark", job, lambda answer: rows.pairs(answer / "pairs.txt"), how)
        )
    if "spark sql" not in absent:
        found.append(plain(path, MIN_ABS_SCORE))
    yield Case(
        name=f"scan, |score| >= {MIN_ABS_SCORE}",
        contestants=tuple(found),
        bars=(
            Ratio(ours=ENGINE, theirs="spark sql", at_least=2.0, text="2x plain Spark SQL"),
            Ratio(ours=ours.CUESTA, theirs="spark sql", at_least=None, text="native, shown"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        absent=absent,
    )


def plain(path: Path, min_abs_score: float) -> Contestant:
    """`spark.read.csv(...).where(...).write.csv(...)`."""
    spark_sql.session()
    return Contestant(
        name="spark sql",
        how="spark.read.schema().csv().where(score in range).write.csv(); session up",
        work=lambda folder: spark_sql.scan(path, min_abs_score, folder / "pairs"),
        answer=lambda folder: rows.pairs(folder / "pairs"),
        repeats_max=5,
    )
