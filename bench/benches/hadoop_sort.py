"""TeraSort as jobs of MapReduce on a real YARN and HDFS: our kernels and Hadoop's program."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from benches.sort import content
from cuesta import uris
from harness import native
from harness.data import tera_records
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.native import Job
from harness.size import Size
from peers import terasort

OURS = "cuesta hadoop"
THEIRS = "terasort"
PLACE = "place"
"""The file with the place of TeraSort's answer."""
BLOCK_BYTES = 128 << 20
COPIED_BYTES = 1 << 20
ROWS_EMPTY = 1000
"""Rows of a job whose time is that of the jobs alone."""
MEMORY = "6GiB"
HOWS = {
    OURS: f"cuesta run sort --engine hadoop --memory {MEMORY} --verify none, a whole process",
    THEIRS: "hadoop-mapreduce-examples, two reduce tasks of 1 GiB heap, into HDFS, a whole process",
}


@dataclass
class Cluster:
    """A YARN over an HDFS, both programs on it, and what their whole runs took."""

    conf: Path
    hdfs: str
    put: Callable[[Path], str]
    seconds: dict[str, deque[float]] = field(default_factory=dict)

    def run(self, name: str, source: str, folder: Path) -> float:
        """The seconds of a complete process that sorts the records at a URI."""
        target = f"{self.hdfs}/{uuid4().hex}"
        started = time.perf_counter()
        if name == THEIRS:
            terasort.sort(self.conf, source, target)
        else:
            job = Job(workload="sort", inputs=(source,), parameters={})
            more = ["--engine", "hadoop", "--memory", MEMORY, "--verify", "none"]
            native.command(job, folder, *more, "--engine-option", f"conf={self.conf}")
        seconds = time.perf_counter() - started
        if name == THEIRS:
            (folder / PLACE).write_text(target)
        return seconds

    def complete_run(self, name: str, source: str) -> Callable[[Path], Sample]:
        """A contestant that sorts the records at a URI."""

        def work(folder: Path) -> Sample:
            seconds = self.run(name, source, folder)
            self.seconds.setdefault(name, deque()).append(seconds)
            return Sample(seconds=seconds)

        return work

    def beyond(self, name: str, empty: str) -> Callable[[Path], Sample]:
        """The measured runs, one after the other, less the time of a job without records."""

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
    input_size = f"{path.stat().st_size / 1e9:.2g} GB"
    with started(bool(absent)) as cluster:
        source, small = cluster.put(path), cluster.put(empty)
        for how, times, work in (
            ("as typed", 1.3, lambda name: cluster.complete_run(name, source)),
            ("less an empty job", 2.0, lambda name: cluster.beyond(name, small)),
        ):
            text = f"{times:g}x TeraSort"
            yield Case(
                name=f"sort, {input_size}, on YARN, {how}",
                contestants=contestants(absent, work),
                bars=(Ratio(ours=OURS, peer=THEIRS, at_least=times, text=text),),
                amount=float(path.stat().st_size),
                unit="B",
                inputs=(path, empty),
                absent=absent,
                repeats_max=3,
            )


def contestants(
    absent: dict[str, str], work: Callable[[str], Callable[[Path], Sample]]
) -> tuple[Contestant, ...]:
    """Contestants that can take part."""
    return tuple(
        Contestant(name=name, how=how, work=work(name), answer=answer)
        for name, how in HOWS.items()
        if name not in absent
    )


def answer(folder: Path) -> Answer:
    """All records in the order of the output."""
    place = folder / PLACE
    if not place.exists():
        return content([folder / "answer" / "sorted.dat"])
    with tempfile.TemporaryDirectory(dir=folder) as name:
        parts = []
        for uri in sorted(uris.entries(place.read_text())):
            if "/part-r-" in uri:
                parts.append(Path(name, uri.rpartition("/")[2]))
                with uris.opened(uri) as file, parts[-1].open("wb") as copy:
                    shutil.copyfileobj(file, copy, COPIED_BYTES)
        return content(parts)


@contextmanager
def started(is_absent: bool) -> Iterator[Cluster]:
    """A node of three slots, one of them for the master of a job, and two data nodes."""
    if is_absent:
        yield Cluster(conf=Path(), hdfs="", put=str)
        return
    sys.path.append(str(terasort.ROOT / "tools"))
    import testbed_hdfs
    import testbed_yarn

    with tempfile.TemporaryDirectory(prefix="cuesta-yarn-") as name, ExitStack() as stack:
        files, jobs = Path(name, "hdfs"), Path(name, "yarn")
        stack.callback(testbed_hdfs.down, files)
        hdfs = testbed_hdfs.up(files)
        stack.callback(testbed_yarn.down, jobs)
        yarn = testbed_yarn.up(jobs, testbed_yarn.Shape(files=hdfs.uri))
        connection = stack.enter_context(testbed_hdfs.connected(hdfs))

        def put(path: Path) -> str:
            return connection.put(path, "input", BLOCK_BYTES)

        yield Cluster(conf=Path(yarn.conf), hdfs=hdfs.uri, put=put)
