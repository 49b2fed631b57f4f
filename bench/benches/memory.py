"""Peak resident memory of `cuesta run` as a process, for files of three sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import rows
from harness import native
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, MemoryLimit
from harness.native import Job
from harness.size import Size

BELOW_BYTES = 200 << 20
GENES_REAL = (640, 2000, 4000)
GENES_SMOKE = (100, 200)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A workload with its threshold and how its answer is read."""

    workload: str
    min_abs_score: float
    answer: Callable[[Path], Answer]


def _pairs(folder: Path) -> Answer:
    return rows.pairs(folder / "answer" / "pairs.txt")


def _degrees(folder: Path) -> Answer:
    return rows.degrees(folder / "answer" / "degrees.tsv", header=True)


COMMANDS = (
    Command(workload="scan", min_abs_score=0.8, answer=_pairs),
    Command(workload="degrees", min_abs_score=0.5, answer=_degrees),
    Command(workload="scan", min_abs_score=0.0, answer=_pairs),
)


def cases(size: Size) -> Iterator[Case]:
    """Every command on every size; keeping every row only up to the middle one."""
    for genes in size.pick(GENES_SMOKE, GENES_REAL):
        path = pairs_text(size.folder, Pairs(genes=genes))
        for command in COMMANDS:
            if command.min_abs_score or genes <= 2000:
                yield case(command, path)


def case(command: Command, path: Path) -> Case:
    """A command on a file."""
    bytes_ = path.stat().st_size
    job = Job(
        workload=command.workload,
        inputs=(path,),
        parameters={"min_abs_score": command.min_abs_score},
    )
    return Case(
        name=f"{command.workload}, {bytes_ / 1e9:.2g} GB, |score| >= {command.min_abs_score}",
        contestants=(
            Contestant(
                name="cuesta command",
                how=f"cuesta run {job.text}, with verification and run record",
                work=lambda folder: native.command(job, folder),
                answer=command.answer,
            ),
        ),
        bars=(MemoryLimit(ours="cuesta command", below_bytes=BELOW_BYTES, text="under 200 MiB"),),
        amount=float(bytes_),
        unit="B",
        inputs=(path,),
        repeats_max=3,
    )
