"""The scan of 1 GB of text on Spark: our kernel inside its tasks against its own CSV reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benches import engines, ours, rows
from cuesta.engines import get_engine
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, Ratio
from harness.native import Job
from harness.size import Size
from peers import spark_sql

MIN_ABS_SCORE = 0.8
ENGINE = "cuesta spark"


def cases(size: Size) -> Iterator[Case]:
    """A case; both sides share a session, which is up."""
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
    engine = None if ENGINE in absent else get_engine("spark")
    contestants = [ours.cuesta(job, _answer)]
    if engine:
        # Before Spark SQL, which then takes the session that the engine has started.
        how = "the Rust kernel on splits inside mapInArrow; session up"
        contestants.append(engines.contestant(engine, job, _answer, how))
    if "spark sql" not in absent:
        contestants.append(plain(path, MIN_ABS_SCORE))
    yield Case(
        name=f"scan, |score| >= {MIN_ABS_SCORE}",
        contestants=tuple(contestants),
        bars=(
            Ratio(ours=ENGINE, peer="spark sql", at_least=2.0, text="2x plain Spark SQL"),
            Ratio(ours=ours.CUESTA, peer="spark sql", at_least=None, text="native, shown"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        absent=absent,
    )
    if engine:
        engines.close(engine)


def plain(path: Path, min_abs_score: float) -> Contestant:
    """`spark.read.csv(...).where(...).write.csv(...)`."""
    return Contestant(
        name="spark sql",
        how="spark.read.schema().csv().where(score in range).write.csv(); session up",
        work=lambda folder: spark_sql.scan(path, min_abs_score, folder / "pairs"),
        answer=lambda folder: rows.pairs(folder / "pairs"),
        repeats_max=5,
    )


def _answer(answer: Path) -> Answer:
    return rows.pairs(answer / "pairs.txt")
