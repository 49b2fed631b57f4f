"""A genome of a billion bases in 8 GiB, and one of a tenth of that: equal time for each base.

All reads of a genome are one gzipped file of many members. The whole commands are timed, with
verification. Every second, the use of the disk besides the reads is measured: files of scratch
have no name, so that nothing else shows them.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benches import engines
from benches.assemble_command import CUESTA, Command, K, files, run, same_files
from cuesta_lab.study.measures import PHASE, measures
from harness.data import genome_reads
from harness.model import Case, Contestant, MemoryLimit, Ratio, Sample
from harness.size import Size

DEPTH = 15
GENOMES = (100_000_000, 1_000_000_000)
SMOKE_GENOMES = (100_000, 1_000_000)
MEMORY_BYTES = 8 << 30
DISK_BYTES = 40 * 10**9
"""Reads, scratch and answer together."""
LINEAR = 1.3
LOOK_SECONDS = 1.0
MPI = f"{CUESTA} mpi"


def cases(size: Size) -> Iterator[Case]:
    """The larger genome natively compared with the smaller one, for each base; and on two ranks."""
    small, large = (
        genome_reads(size.folder, bases, DEPTH) for bases in size.pick(SMOKE_GENOMES, GENOMES)
    )
    bases = size.pick(SMOKE_GENOMES, GENOMES)
    memory = size.pick(1 << 30, MEMORY_BYTES)
    why = size.left_out("mpi") or engines.missing("mpi")
    ours = _contestant(CUESTA, large, memory)
    smaller = _contestant(f"{bases[0]:.0e} bases", small, memory, times=bases[1] // bases[0])
    ranks = _contestant(MPI, large, memory, ("--engine", "mpi"))
    bars: list[Ratio | MemoryLimit] = [
        Ratio(
            ours=CUESTA,
            peer=smaller.name,
            at_least=1 / LINEAR,
            text=f"at most {LINEAR} times as long for each base as of a tenth of it",
        ),
        MemoryLimit(ours=CUESTA, below_bytes=memory, text="within its memory"),
    ]
    if not why:
        bars.append(Ratio(ours=MPI, peer=CUESTA, at_least=None, text="on two ranks, shown"))
    yield Case(
        name=f"genome of {bases[1]:.0e} bases, {DEPTH}x, k = {K}, in {memory >> 30} GiB",
        contestants=(ours, smaller, *(() if why else (ranks,))),
        bars=tuple(bars),
        amount=float(bases[1]),
        unit="bases",
        absent={MPI: why} if why else {},
        same=same_files,
        repeats_max=1,
    )


def _contestant(
    name: str, reads: Path, memory: int, words: tuple[str, ...] = (), *, times: int = 1
) -> Contestant:
    """The whole command; its time counts so many `times`."""
    options = ("-k", str(K), "--memory", str(memory), *words)
    command = Command(files=(reads,), options=options, limit_bytes=memory)
    peaks: list[int] = []

    def work(folder: Path) -> Sample:
        with _watched(folder) as found:
            done = run(command, folder)
        peaks.append(max(found) + reads.stat().st_size)
        if peaks[-1] > DISK_BYTES:
            raise RuntimeError(f"{name}: {peaks[-1] / 1e9:.1f} GB of disk, with its reads")
        peak = done.record["peak_resident_bytes"]
        return Sample(seconds=done.seconds * times, peak_resident_bytes=peak)

    def remark(folder: Path) -> str:
        record = json.loads((folder / "answer" / "run.json").read_text())
        return (
            f"{name}: {_phases_text(record)}; {peaks[-1] / 1e9:.1f} GB of disk at most, with reads"
        )

    answer = (lambda folder: files(folder / "answer")) if times == 1 else None
    how = f"{command.text}, verified{f', {times} times' if times > 1 else ''}"
    return Contestant(name=name, how=how, work=work, answer=answer, remark=remark)


def _phases_text(record: dict[str, Any]) -> str:
    values = measures(record).items()
    phases = ", ".join(
        f"{name.removeprefix(PHASE)} {taken:.0f} s"
        for name, taken in values
        if name.startswith(PHASE)
    )
    return f"{phases}, verification {record['verification']['seconds']:.0f} s"


@contextmanager
def _watched(folder: Path) -> Iterator[list[int]]:
    """By how much more of the disk of a folder is used, from time to time."""
    found, ended = [0], threading.Event()
    before = shutil.disk_usage(folder).used

    def look() -> None:
        while not ended.wait(LOOK_SECONDS):
            found.append(shutil.disk_usage(folder).used - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()
