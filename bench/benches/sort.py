"""TeraSort: 1 GB of records in memory, and as many as the disk has room for beyond it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benches import engines, ours
from cuesta.engines import Engine, get_engine
from harness import limits
from harness.data import tera_records
from harness.model import (
    THREADS,
    Answer,
    Case,
    Contestant,
    DifferentAnswer,
    MemoryLimit,
    Ratio,
    Sample,
)
from harness.native import Job
from harness.size import Size
from peers import plain_copy, spark_records, spark_sql

COPY = "read + write"
COPY_TWICE = "read + write, twice"
LIMITED = "cuesta --memory"
SPARK_SORT = "spark sort"
BY_KEY = "pyspark sortByKey"
RECORD_BYTES = 100
LARGE_ROWS = 80_000_000
LIMIT_BYTES = 2 << 30
DISK_TIMES = 3
"""Input, runs and answer are on the disk at once."""
DISK_KEPT_BYTES = 3 << 30


def cases(size: Size) -> Iterator[Case]:
    """Cases in memory, compared with Spark; and beyond it, compared with copying twice."""
    held = [get_engine(name) for name in ("mpi", "spark")]
    yield in_memory(size, held)
    for engine in held:
        engines.close(engine)
    yield beyond(size)


def in_memory(size: Size, held: Sequence[Engine]) -> Case:
    """All engines on 10 million records, page cache warm."""
    path = tera_records(size.folder, size.pick(100_000, 10_000_000))
    job = Job(workload="sort", inputs=(path,), parameters={})
    absent = {
        name: why
        for name, why in (
            ("cuesta spark", size.left_out("spark") or engines.missing("spark")),
            (SPARK_SORT, size.left_out("spark") or spark_sql.missing()),
            (BY_KEY, size.left_out("spark") or spark_sql.missing()),
            ("cuesta mpi", size.left_out("mpi") or engines.missing("mpi")),
        )
        if why
    }
    contestants = [ours.cuesta(job, _sorted), copied(path)]
    for engine in held:
        if f"cuesta {engine.name}" not in absent:
            how = f"our kernels in the tasks of {engine.name}"
            contestants.append(engines.contestant(engine, job, _sorted, how))
    contestants += [sorter for sorter in spark(path) if sorter.name not in absent]
    return Case(
        name=f"sort, {_gigabytes(path)}, in memory",
        contestants=tuple(contestants),
        bars=(
            Ratio(ours=ours.CUESTA, peer=COPY, at_least=0.5, text="2x reading and writing"),
            Ratio(ours=ours.CUESTA, peer=SPARK_SORT, at_least=8.0, text="8x Spark's sort"),
            Ratio(ours=ours.CUESTA, peer=BY_KEY, at_least=8.0, text="8x PySpark's sortByKey"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        absent=absent,
    )


def spark(path: Path) -> tuple[Contestant, Contestant]:
    """Spark's own sorts, in the session that our engine has started."""
    dataset = Contestant(
        name=SPARK_SORT,
        how="binaryRecords, Dataset.orderBy(substring(value, 1, 10)); session up",
        work=lambda folder: spark_records.dataset(path, folder / "parts"),
        answer=_parts,
        repeats_max=3,
    )
    by_key = Contestant(
        name=BY_KEY,
        how="binaryRecords.map(key, record).sortByKey(); session up",
        work=lambda folder: spark_records.sort_by_key(path, folder / "parts"),
        answer=_parts,
        repeats_max=1,
    )
    return dataset, by_key


def copied(path: Path) -> Contestant:
    """Contestant of the least work of any sort."""
    return Contestant(
        name=COPY,
        how="2 threads, pread and pwrite of 1 MiB, page cache warm",
        work=lambda folder: plain_copy.copy(path, folder / "copy"),
    )


def beyond(size: Size) -> Case:
    """A process whose limit is a quarter of its input, 8 GB where the disk has room for them."""
    rows = size.pick(2_000_000, _rows_that_fit(size.folder))
    limit_bytes = size.pick(96 << 20, min(LIMIT_BYTES, rows * RECORD_BYTES // 4))
    path = tera_records(size.folder, rows)
    with limits.control_group(limit_bytes) as group:
        by = "a control group and its data segment" if group else "its data segment"
    limit = f"{limit_bytes >> 20} MiB"
    words = [sys.executable, plain_copy.__file__, str(path)]

    def copy_twice(folder: Path) -> Sample:
        return limits.run([*words, str(folder / "copy"), str(folder / "runs")], limit_bytes)

    notes = [f"beyond memory, each process is held to {limit} by {by}"]
    if not size.smoke and rows < LARGE_ROWS:
        notes.append(f"the disk has room for {_gigabytes(path)} three times, not for 8 GB")
    return Case(
        name=f"sort, {_gigabytes(path)}, {limit}",
        contestants=(
            Contestant(
                name=LIMITED,
                how=f"phases of cuesta run sort --memory {limit_bytes}, which verifies its answer",
                work=_limited(path, limit_bytes),
                answer=lambda folder: _verified(folder / "answer"),
            ),
            Contestant(
                name=COPY_TWICE,
                how="a process of 2 threads, pread and pwrite of 1 MiB, by way of a second file",
                work=copy_twice,
            ),
        ),
        bars=(
            Ratio(ours=LIMITED, peer=COPY_TWICE, at_least=0.4, text="2.5x two reads and writes"),
            MemoryLimit(ours=LIMITED, below_bytes=limit_bytes, text=f"under {limit}"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        repeats_max=3,
        notes=tuple(notes),
    )


def _limited(path: Path, limit_bytes: int) -> Callable[[Path], Sample]:
    words = [sys.executable, "-m", "cuesta", "run", "sort", str(path), "--threads", str(THREADS)]
    words += ["--memory", str(limit_bytes)]

    def work(folder: Path) -> Sample:
        ran = limits.run([*words, "-o", str(folder / "answer")], limit_bytes)
        record = json.loads((folder / "answer" / "run.json").read_text())
        seconds = sum(phase["seconds"] for phase in record["phases"])
        return Sample(seconds=seconds, peak_resident_bytes=ran.peak_resident_bytes)

    return work


def _rows_that_fit(folder: Path) -> int:
    """Rows for which there is room three times, with or without the input of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    existing = sum(path.stat().st_size for path in folder.glob("tera-*.dat"))
    room = max(0, shutil.disk_usage(folder).free + existing - DISK_KEPT_BYTES)
    fit = room // (DISK_TIMES * RECORD_BYTES) // 5_000_000 * 5_000_000
    return max(5_000_000, min(LARGE_ROWS, fit))


def _gigabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e9:.2g} GB"


def _sorted(answer: Path) -> Answer:
    return content([answer / "sorted.dat"])


def _parts(folder: Path) -> Answer:
    return content(sorted((folder / "parts").iterdir()))


def content(files: list[Path]) -> Answer:
    """All bytes in order: keys are unique, so there is one right order."""
    hashed = hashlib.blake2b(digest_size=16)
    for file in files:
        with file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                hashed.update(piece)
    rows = sum(file.stat().st_size for file in files) // RECORD_BYTES
    return Answer(digest=hashed.hexdigest(), rows=rows)


def _verified(answer: Path) -> Answer:
    record = json.loads((answer / "run.json").read_text())
    if not record["verified"]:
        raise DifferentAnswer(f"{answer}: not verified")
    return Answer(digest=record["answer"]["digest"], rows=record["answer"]["counts"]["records"])
