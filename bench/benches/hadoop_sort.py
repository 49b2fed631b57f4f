"""TeraSort as jobs of MapReduce on a real YARN: our kernels beside Hadoop's own program."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benches.sort import content
from harness import native
from harness.data import tera_records
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import terasort

OURS = "cuesta hadoop"
THEIRS = "terasort"
ROWS_EMPTY = 1000
"""Of a job whose time is that of jobs alone."""
MEMORY = "6GiB"
HOWS = {
    OURS: f"cuesta run sort --engine hadoop --memory {MEMORY} --verify none, a whole process",
    THEIRS: "hadoop-mapreduce-examples, two reduce tasks of 1 GiB heap, a whole process",
}


@dataclass
class Ways:
    """Both programs on one cluster, and what their whole runs took."""

    conf: Path
    seconds: dict[str, deque[float]] = field(default_factory=dict)

    def run(self, name: str, path: Path, folder: Path) -> float:
        """The seconds of a whole process that sorts a file."""
        started = time.perf_counter()
        if name == THEIRS:
            terasort.sort(self.conf, path, folder / "parts")
        else:
            job = Job(workload="sort", inputs=(path,), parameters={})
            conf = f"conf={self.conf}"
            more = ["--engine", "hadoop", "--memory", MEMORY, "--verify", "none"]
            native.command(job, folder, *more, "--engine-option", conf)
        return time.perf_counter() - started

    def whole(self, name: str, path: Path) -> Callable[[Path], Sample]:
        """A contestant that sorts a file."""

        def work(folder: Path) -> Sample:
            seconds = self.run(name, path, folder)
            self.seconds.setdefault(name, deque()).append(seconds)
            return Sample(seconds=seconds)

        return work

    def beyond(self, name: str, empty: Path) -> Callable[[Path], Sample]:
        """The same runs, one after the other, less what a job without records takes now."""

        def work(folder: Path) -> Sample:
            # The first run of each was not measured.
            seconds = self.seconds[name]
            seconds.rotate(-1)
            return Sample(seconds=max(1e-3, seconds[0] - self.run(name, empty, folder)))

        return work


def cases(size: Size) -> Iterator[Case]:
    """Whole runs of 1 GB, then the same less an empty job."""
    path = tera_records(size.folder, size.pick(10_000, 10_000_000))
    empty = tera_records(size.folder, ROWS_EMPTY)
    why = size.left_out("hadoop") or terasort.missing()
    absent = dict.fromkeys((OURS, THEIRS), why) if why else {}
    with cluster(bool(absent)) as conf:
        ways = Ways(conf)
        given = f"{path.stat().st_size / 1e9:.2g} GB"
        yield Case(
            name=f"sort, {given}, on YARN, as typed",
            contestants=contestants(absent, lambda name: ways.whole(name, path)),
            bars=(Ratio(ours=OURS, theirs=THEIRS, at_least=1.3, text="1.3x TeraSort"),),
            amount=float(path.stat().st_size),
            unit="B",
            inputs=(path,),
            absent=absent,
            repeats_max=3,
        )
        yield Case(
            name=f"sort, {given}, on YARN, less an empty job",
            contestants=contestants(absent, lambda name: ways.beyond(name, empty)),
            bars=(Ratio(ours=OURS, theirs=THEIRS, at_least=2.0, text="2x TeraSort"),),
            amount=float(path.stat().st_size),
            unit="B",
            inputs=(path, empty),
            absent=absent,
            repeats_max=3,
        )


def contestants(
    absent: dict[str, str], work: Callable[[str], Callable[[Path], Sample]]
) -> tuple[Contestant, ...]:
    """Who can take part."""
    return tuple(
        Contestant(name=name, how=how, work=work(name), answer=answer)
        for name, how in HOWS.items()
        if name not in absent
    )


def answer(folder: Path) -> Answer:
    """All records in their order, as either has left them."""
    ours = folder / "answer" / "sorted.dat"
    return content([ours] if ours.exists() else sorted((folder / "parts").glob("part-r-*")))


@contextmanager
def cluster(is_absent: bool) -> Iterator[Path]:
    """The settings of a YARN with a node of three slots, one of them for the master of a job."""
    if is_absent:
        yield Path()
        return
    sys.path.append(str(terasort.ROOT / "tools"))
    import testbed_yarn

    with tempfile.TemporaryDirectory(prefix="cuesta-yarn-") as name:
        folder = Path(name, "yarn")
        try:
            yield Path(testbed_yarn.up(folder).conf)
        finally:
            testbed_yarn.down(folder)
