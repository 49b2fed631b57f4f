"""Work on a parallel file system with a part of its input in memory, and the paper's equations.

A client that does not compute measures the rates of the file system and of memory. From these,
equation (7) predicts its time where a part is in memory. Work that computes takes the larger of the
time of reading by the equation and its time with all input in memory: Section 5.3 and 5.4 of
"Accelerating big data analytics on HPC clusters using two-level storage" (2016).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benches.store_model import rate_of_both
from cuesta_lab import machines
from cuesta_lab.study.measures import PHASE, measures
from cuesta_store import control
from harness import stores, studies
from harness.data import Points, points_array, tera_records
from harness.model import Answer, Case, Contestant, Ratio, Recorded, Sample
from harness.size import Size
from harness.studies import StudyRuns, Trial

QUESTION = "What does a part of the input in memory save?"
QUARTERS = range(5)
NOTHING, EVERYTHING = QUARTERS[0], QUARTERS[-1]
FACTORS = {"disks": 2, "disk-rate": "100MB/s"}
HOW = "GlusterFS, two nodes of a disk held to 100 MB/s"
NODE_MEMORY = "96MiB"
DIRTY = "16MiB"
SHARD = "4MiB"
"""Size of a shard, the smallest: the reader of a single file then uses all disks."""
CLIENT_MEMORY = "128MiB"
"""Memory of the process that reads anew, with the pages of files. A quarter of a file, which is
what is read with three quarters in memory, has to be more than it and both nodes cache of it
together."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """Work that reads its input.

    Attributes
    ----------
    name
        Name of its trials, in small letters and hyphens.
    what
        In words, for the table.
    phase
        Phase that is timed: a reading of all of the input.
    near
        The prediction and the measured time differ by no more than this factor.
    settings
        Settings of all of its trials.
    """

    name: str
    what: str
    phase: str
    near: float
    settings: Mapping[str, Any]


READS = Work(
    name="read",
    what="reading alone",
    phase="read",
    near=1.1,
    settings={"workload": "ioread", "cores": 1},
)
MAPS = Work(
    name="map", what="map stage of sort", phase="read", near=1.2, settings={"workload": "sort"}
)


def iterations(clusters: int) -> Work:
    """An iteration of k-means that reads its points anew."""
    return Work(
        name=f"kmeans-{clusters}",
        what=f"an iteration of kmeans, {clusters} clusters",
        phase="streamed iteration 2",
        near=1.2,
        settings={
            "workload": "kmeans",
            "parameters": {"clusters": clusters, "iterations": 2, "keep": "none"},
            "memory": "96MiB",
            "machine": {"memory-group": CLIENT_MEMORY},
        },
    )


COMPUTES = (iterations(10), iterations(200), MAPS)


@dataclass
class Measured:
    """The repeats of all trials, and the bytes of each work's input."""

    ran: StudyRuns
    inputs: Mapping[str, Path]
    seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def of(self, work: Work, quarter: int) -> list[float]:
        """Seconds of the phase, repeat by repeat."""
        key = work.name, quarter
        if key not in self.seconds:
            records = self.ran.records(trial_name(work, quarter))
            self.seconds[key] = [measures(record)[f"{PHASE}{work.phase}"] for record in records]
        return self.seconds[key]

    def answer(self, work: Work, quarter: int) -> Answer:
        """Answer of all repeats: the study itself requires that they are equal."""
        answer_fields = self.ran.records(trial_name(work, quarter))[0]["answer"]
        return Answer(digest=answer_fields["digest"], rows=0)

    def bytes(self, work: Work) -> int:
        """Bytes of the input."""
        return self.inputs[work.name].stat().st_size

    def in_memory(self, work: Work, quarter: int) -> float:
        """The part of the input's bytes that the store has."""
        held = blocks(self.bytes(work), quarter) * control.BLOCK_BYTES
        return min(1.0, held / self.bytes(work))

    def predicted(self, work: Work, quarter: int) -> list[float]:
        """Seconds by the equation, at least those of the work with all of its input in memory."""
        below, memory = (
            self.bytes(READS) / median(self.of(READS, end)) for end in (NOTHING, EVERYTHING)
        )
        reading = self.bytes(work) / rate_of_both(below, memory, self.in_memory(work, quarter))
        if work is READS:
            return [reading for _ in self.of(work, quarter)]
        return [max(reading, computing) for computing in self.of(work, EVERYTHING)]


def cases(size: Size) -> Iterator[Case]:
    """A case for each work, on one file system."""
    works = (READS, *(COMPUTES[:1] if size.smoke else COMPUTES))
    with file_system(size) as (folder, why):
        if why:
            for work in works:
                absent = dict.fromkeys(_names(), why)
                yield Case(
                    name=work.what, contestants=(), bars=(), amount=1.0, unit="B", absent=absent
                )
            return
        measured = run(size, folder, works)
        for work in works:
            yield case(work, measured, size.pick("a folder", HOW))


@contextmanager
def file_system(size: Size) -> Iterator[tuple[Path, str | None]]:
    """A folder on it, or why there is none; at the smoke size a folder of the data will do."""
    if size.smoke:
        with tempfile.TemporaryDirectory(dir=size.folder) as folder:
            yield Path(folder), None
        return
    sys.path.append(str(stores.ROOT / "tools"))
    import testbed_gluster

    why = testbed_gluster.missing() or machines.refusal(FACTORS)
    if why:
        yield size.folder, why
        return
    shape = testbed_gluster.Shape(
        disk_rate=str(FACTORS["disk-rate"]), disk_dirty=DIRTY, memory=NODE_MEMORY, shard_size=SHARD
    )
    with tempfile.TemporaryDirectory(prefix="cuesta-two-level-") as name:
        place = Path(name, "parallel")
        try:
            yield Path(testbed_gluster.up(place, shape).mount), None
        finally:
            testbed_gluster.down(place)


def run(size: Size, folder: Path, works: Sequence[Work]) -> Measured:
    """All trials, in a drawn order."""
    points = points_array(size.folder, Points(rows=size.pick(200_000, 8_000_000)))
    records = tera_records(size.folder, size.pick(200_000, 10_000_000))
    copies = {path: folder / path.name for path in (points, records)}
    for path, copy in copies.items():
        shutil.copyfile(path, copy)
    inputs = {
        work.name: copies[points if work.name.startswith("kmeans") else records] for work in works
    }
    trials = [trial(work, quarter, inputs[work.name]) for work in works for quarter in QUARTERS]
    study_folder = size.folder / f"two-level-{size.pick('smoke', 'real')}"
    ran = studies.run(study_folder, QUESTION, trials, size.pick(1, 3))
    return Measured(ran=ran, inputs=inputs)


def trial(work: Work, quarter: int, path: Path) -> Trial:
    """A run with so many quarters of its input in memory, and no room for anything else."""
    held = {}
    if count := blocks(path.stat().st_size, quarter):
        held = {"store": f"{count * control.BLOCK_BYTES >> 20}MiB", "holds": True}
    return Trial(
        name=trial_name(work, quarter),
        settings={**work.settings, **held, "cache": "cold-machine"},
        inputs=(path,),
    )


def trial_name(work: Work, quarter: int) -> str:
    """Name of the trial of a work with so many quarters in memory."""
    return f"{work.name}-{25 * quarter}"


def blocks(size_bytes: int, quarter: int) -> int:
    """Number of a file's blocks in so many quarters, one at least."""
    return max(1, -(-size_bytes // control.BLOCK_BYTES) * quarter // 4) if quarter else 0


def case(work: Work, measured: Measured, where: str) -> Case:
    """Case with the measured times for each part in memory, and the predictions."""
    ours, equations = [], []
    for quarter in QUARTERS:
        name, predicted = _names(quarter)
        how, found = f"{where}; phase {work.phase}", measured.answer(work, quarter)
        ours.append(_recorded(name, how, measured.of(work, quarter), found))
        if quarter != EVERYTHING and not (work is READS and quarter == NOTHING):
            seconds = measured.predicted(work, quarter)
            equations.append(_recorded(predicted, _equation(work), seconds))
    known = {equation.name for equation in equations}
    pairs = [names for names in map(_names, QUARTERS) if names[1] in known]
    return Case(
        name=f"{work.what}, {measured.bytes(work) / 1e6:.0f} MB",
        contestants=(*ours, *equations),
        bars=(
            *(_near(*pair, work.near) for names in pairs for pair in (names, names[::-1])),
            Ratio(
                ours=_names(EVERYTHING)[0],
                peer=_names(NOTHING)[0],
                at_least=None,
                text="beside nothing in memory, shown",
            ),
        ),
        amount=float(measured.bytes(work)),
        unit="B",
    )


def _near(ours: str, peer: str, near: float) -> Ratio:
    return Ratio(ours=ours, peer=peer, at_least=1 / near, text=f"within {near - 1:.0%} of {peer}")


def _names(quarter: int = NOTHING) -> tuple[str, str]:
    """Names of the measured and of the predicted contestant."""
    return f"{quarter / 4:g} in memory", f"predicted, {quarter / 4:g}"


def _recorded(
    name: str, how: str, seconds: Sequence[float], answer: Answer | None = None
) -> Contestant:
    samples = tuple(Sample(seconds=time) for time in seconds)
    return Contestant(name=name, how=how, recorded=Recorded(samples=samples, answer=answer))


def _equation(work: Work) -> str:
    """Description of a prediction."""
    if work is READS:
        return "equation (7) of the rates with nothing and with all in memory"
    return "the larger of equation (7), rates of reading alone, and its time with all in memory"
