"""The dataflow of 96 blocks of 2^20 vectors: fused, compared with MPI in C; stage by stage."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benches import engines, ours
from cuesta.engines import Engine, get_engine
from cuesta.engines.spark.engine import SparkEngine
from cuesta.engines.spark.executor import greet
from harness import native
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import mpi_c

BLOCKS = 96
SHIFT = "25,-12.5,3"
VECTOR_BYTES = 24
MPI, SPARK, SCALA = "cuesta mpi", "cuesta spark", "cuesta spark-scala"
STRAIGHT, FUSED, TUNED = (program.name for program in mpi_c.PROGRAMS)
FLOOR = "cuesta + empty spark job"
SHIFT_PHASE, AVERAGE_PHASE = "cuesta shift", "cuesta average"
COPY, READ = "memory copy", "memory read"


def cases(size: Size) -> Iterator[Case]:
    """All engines on the fused pipeline; then our stages compared with plain passes over memory."""
    vectors = size.pick(1 << 12, 1 << 20)
    job = Job(
        workload="dataflow",
        inputs=(),
        parameters={"blocks": BLOCKS, "block_vectors": vectors, "shift": SHIFT},
    )
    yield from fused(size, job, vectors)
    yield stages(job, vectors)


def fused(size: Size, job: Job, vectors: int) -> Iterator[Case]:
    """Without a block in memory, where an engine can; sessions are up."""
    absent = {
        **{program.name: why for program in mpi_c.PROGRAMS if (why := mpi_c.missing())},
        **_absent(size, "mpi", (MPI,)),
        **_absent(size, "spark", (SPARK, FLOOR)),
        **_absent(size, "spark-scala", (SCALA,)),
    }
    spark = SparkEngine()
    shape = (BLOCKS, vectors, SHIFT)
    contestants = [ours.cuesta(job, _table)]
    contestants += [
        peer(program, shape) for program in mpi_c.PROGRAMS if program.name not in absent
    ]
    if MPI not in absent:
        contestants.append(on_ranks(job))
    if SPARK not in absent:
        how = "our kernels in mapInArrow; session up"
        contestants += [engines.contestant(spark, job, _table, how), floor(spark, job)]
    yield Case(
        name=f"dataflow, fused, {BLOCKS} x {vectors} vectors",
        contestants=tuple(contestants),
        bars=fused_bars(),
        amount=float(BLOCKS * vectors),
        unit="vectors",
        inputs=(),
        absent={name: why for name, why in absent.items() if name != SCALA},
    )
    engines.close(spark)
    if SCALA not in absent:
        yield in_scala(get_engine("spark-scala"), job, vectors)


def fused_bars() -> tuple[Ratio, ...]:
    """The bars of the issue, each also compared with the C program that fuses its loops."""
    return (
        Ratio(ours=ours.CUESTA, peer=STRAIGHT, at_least=1.0, text="1.0x MPI/C"),
        Ratio(ours=ours.CUESTA, peer=FUSED, at_least=1.0, text="1.0x MPI/C, fused"),
        Ratio(ours=ours.CUESTA, peer=TUNED, at_least=None, text="MPI/C for this CPU, shown"),
        Ratio(ours=MPI, peer=STRAIGHT, at_least=1 / 1.1, text="1.1x the time of MPI/C"),
        Ratio(ours=MPI, peer=FUSED, at_least=1 / 1.1, text="1.1x the time of MPI/C, fused"),
        Ratio(ours=SPARK, peer=FLOOR, at_least=1 / 1.5, text="1.5x native plus an empty Spark job"),
    )


def in_scala(engine: Engine, job: Job, vectors: int) -> Case:
    """Separate case, because a process has one JVM."""
    how = "plain Scala on RDDs; session up"
    return Case(
        name=f"dataflow in Scala, {BLOCKS} x {vectors} vectors",
        contestants=(
            ours.cuesta(job, _table),
            engines.contestant(engine, job, _table, how),
        ),
        bars=(Ratio(ours=SCALA, peer=ours.CUESTA, at_least=None, text="beside native, shown"),),
        amount=float(BLOCKS * vectors),
        unit="vectors",
        inputs=(),
    )


def peer(program: mpi_c.Program, shape: tuple[int, int, str]) -> Contestant:
    """The C program."""
    return Contestant(
        name=program.name,
        how=program.how,
        work=lambda folder: mpi_c.run(program, shape, folder),
        answer=_table,
    )


def on_ranks(job: Job) -> Contestant:
    """Our engine's phases, as the C program has them: without starting ranks."""
    engine = get_engine("mpi")

    def work(folder: Path) -> Sample:
        outcome = engines.run(engine, job, folder)
        return Sample(seconds=sum(phase.seconds for phase in outcome.phases))

    return Contestant(
        name=MPI,
        how="our kernels in 2 ranks; its phases",
        work=work,
        answer=lambda folder: _table(folder / "answer"),
    )


def floor(engine: SparkEngine, job: Job) -> Contestant:
    """Bound of our Spark engine: the native time, and a job that does nothing."""

    def work(folder: Path) -> None:
        native.run(job, folder)
        _empty_job(engine)

    return Contestant(
        name=FLOOR,
        how="the native engine, then a Spark job of 6 tasks that only say who they are",
        work=work,
        answer=_table,
        repeats_max=5,
    )


def _empty_job(engine: SparkEngine) -> None:
    session: Any = engine._held.session
    session.map_arrow(session.spark.range(0, 6, 1, 6), greet, "version string").toArrow()


def stages(job: Job, vectors: int) -> Case:
    """Shift and average over blocks that remain in memory."""
    separate = Job(
        workload="dataflow",
        inputs=(),
        parameters={**job.parameters, "stages": "separate", "keep": "memory"},
    )
    size_bytes = BLOCKS * vectors * VECTOR_BYTES
    return Case(
        name=f"dataflow, stage by stage, {BLOCKS} x {vectors} vectors",
        contestants=(
            *(stage(separate, name) for name in (SHIFT_PHASE, AVERAGE_PHASE)),
            Contestant(
                name=COPY,
                how="as many bytes read and written elsewhere, 2 threads",
                work=partial(_copied, size_bytes),
            ),
            Contestant(
                name=READ,
                how="one pass over as many bytes that adds up what is there, 2 threads",
                work=lambda _: native.memory_pass(size_bytes, 1),
            ),
        ),
        bars=(
            Ratio(ours=SHIFT_PHASE, peer=COPY, at_least=0.8, text="0.8 of the memory ceiling"),
            Ratio(ours=AVERAGE_PHASE, peer=READ, at_least=0.8, text="0.8 of the memory ceiling"),
        ),
        amount=float(BLOCKS * vectors),
        unit="vectors",
        inputs=(),
    )


def _copied(size_bytes: int, _folder: Path) -> Sample:
    return native.memory_copy(size_bytes)


def stage(job: Job, name: str) -> Contestant:
    """Contestant of a phase of our run."""
    phase = name.split()[-1]

    def work(folder: Path) -> Sample:
        phases = native.run(job, folder)["phases"]
        return Sample(seconds=next(each["seconds"] for each in phases if each["name"] == phase))

    return Contestant(name=name, how=f"{job.text}; the phase `{phase}`", work=work, answer=_table)


def _absent(size: Size, engine: str, names: Sequence[str]) -> dict[str, str]:
    why = size.left_out(engine.split("-")[0]) or engines.missing(engine)
    return dict.fromkeys(names, why) if why else {}


def _table(folder: Path) -> Answer:
    lines = (folder / "averages.tsv").read_text().splitlines()[1:-1]
    sums = ["\t".join(line.split("\t")[2:5]) for line in lines]

    digest = hashlib.blake2b("\n".join(sums).encode(), digest_size=16)
    return Answer(digest=digest.hexdigest(), rows=len(sums))
