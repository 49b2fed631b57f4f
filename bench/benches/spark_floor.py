"""Cost of Spark without work: a session and a round, ours and plain Spark's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from benches import engines
from cuesta.engines.spark import training
from cuesta.engines.spark.options import settings_of
from cuesta.engines.spark.session import Places, start
from cuesta.trial import Trial
from harness import native
from harness.data import Pairs, pairs_text
from harness.model import MEMORY_BYTES, THREADS, Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size

OURS = "cuesta spark"
BARE = "cuesta spark, no archive"
PLAIN = "plain spark"
PEER = Path(__file__).resolve().parent.parent / "peers" / "spark_floor.py"
PAIRS = 7
PARTS = ("jvm", "context", "session", "workers")


def cases(size: Size) -> Iterator[Case]:
    """Complete processes by turns, then the parts of a start."""
    path = pairs_text(size.folder, Pairs(genes=20))
    job = Job(workload="scan", inputs=(path,), parameters={"min_abs_score": 0.0})
    why = size.left_out("spark") or engines.missing("spark")
    absent = dict.fromkeys((OURS, BARE, PLAIN), why) if why else {}
    # A new cache, so that a contestant without an archive has all else that a cache has.
    cache_folder = Path(tempfile.mkdtemp(prefix="cuesta-bench-cache-"))
    if not absent and training.make(lambda what: print(f"making {what}", file=sys.stderr)) is None:
        absent[OURS] = "this Java can have no archive"
    contestants = (
        ours(OURS, job, {}, "the whole command, from an archive of Spark's classes"),
        ours(BARE, job, {"XDG_CACHE_HOME": str(cache_folder)}, "the same without one"),
        plain(),
    )
    yield Case(
        name="session and one round",
        contestants=tuple(
            contestant for contestant in contestants if contestant.name not in absent
        ),
        bars=(
            Ratio(ours=OURS, peer=PLAIN, at_least=1.0, text="at most plain Spark's time"),
            Ratio(ours=BARE, peer=PLAIN, at_least=1.0, text="the same without an archive"),
        ),
        amount=1,
        unit="sessions",
        absent=absent,
        repeats_max=PAIRS,
        # They compute nothing in common.
        same=lambda _left, _right: None,
    )
    if not why:
        yield parts(size, cache_folder)


def ours(name: str, job: Job, variables: Mapping[str, str], how: str) -> Contestant:
    """`cuesta run scan` of 190 pairs."""

    def work(folder: Path) -> Sample:
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            return native.command(job, folder, "--engine", "spark", "--memory", str(MEMORY_BYTES))
        finally:
            os.environ.clear()
            os.environ.update(before)

    return Contestant(
        name=name,
        how=f"cuesta run {job.text} --engine spark, verified, with its record: {how}",
        work=work,
        answer=lambda folder: Answer(digest="", rows=_lines(folder / "answer" / "pairs.txt")),
    )


def plain() -> Contestant:
    """PySpark as its users write it."""

    def work(folder: Path) -> None:
        # Workers are started by the first python3 on the path.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [sys.executable, str(PEER), str(folder)],
            check=True,
            capture_output=True,
            env=os.environ | {"PATH": path, "PYTHONWARNINGS": "ignore"},
        )

    return Contestant(
        name=PLAIN,
        how="builder.getOrCreate(), range(2).mapInArrow(...).collect(), stop(); the whole process",
        work=work,
        answer=lambda folder: Answer(digest="", rows=int((folder / "rows").read_text())),
    )


def parts(size: Size, cache_folder: Path) -> Case:
    """A session of the engine in this process, and the parts of its start."""
    start_seconds: dict[str, list[Mapping[str, float]]] = {OURS: [], BARE: []}

    def contestant(name: str, variables: Mapping[str, str]) -> Contestant:
        def work(folder: Path) -> Sample:
            before = dict(os.environ)
            os.environ.update(variables)
            trial = Trial(
                workload="scan",
                engine="spark",
                inputs=(),
                parameters={},
                threads=THREADS,
                memory_bytes=MEMORY_BYTES,
                seed=0,
                engine_options={},
            )
            place = folder / "session"
            place.mkdir()
            begun = time.perf_counter()
            try:
                session = start(settings_of(trial), Places(folder=place, logs=folder))
            finally:
                os.environ.clear()
                os.environ.update(before)
            seconds = time.perf_counter() - begun
            begun = time.perf_counter()
            session.stop()
            start_seconds[name].append(
                {**session.start_seconds, "stop": time.perf_counter() - begun}
            )
            return Sample(seconds=seconds)

        def remark(_folder: Path) -> str:
            medians = {
                part: median([start[part] for start in start_seconds[name]])
                for part in (*PARTS, "stop")
            }
            words = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in medians.items())
            return f"{name}, medians of its parts: {words}"

        return Contestant(
            name=name,
            how="from nothing until its Python workers have answered, in a process that runs",
            work=work,
            answer=lambda _: Answer(digest="started", rows=1),
            remark=remark,
        )

    return Case(
        name="a session's start",
        contestants=(contestant(OURS, {}), contestant(BARE, {"XDG_CACHE_HOME": str(cache_folder)})),
        bars=(Ratio(ours=OURS, peer=BARE, at_least=None, text="what an archive saves, shown"),),
        amount=1,
        unit="sessions",
        repeats_max=size.pick(1, PAIRS),
    )


def _lines(file: Path) -> int:
    return file.read_text().count("\n")
