"""Cost of the lab's probe for a run: its processor time, and the run's time with it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuesta.lab.probe import Probe
from harness import native
from harness.model import Answer, Case, Contestant, Ratio, Sample, Share
from harness.native import Job
from harness.size import Size

PROBED = "with the probe"
PLAIN = "without"
COST = "processor time of the probe"
PROCESSES, THREADS = 32, 50
_CHILD = f"""
import threading, time
for _ in range({THREADS}): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print(flush=True)
time.sleep(600)
"""


def cases(size: Size) -> Iterator[Case]:
    """Work of both threads in one process, alone and alongside processes of many threads."""
    job = Job(
        workload="dataflow",
        inputs=(),
        parameters={
            "blocks": size.pick(16, 512),
            "block_vectors": 1 << size.pick(14, 20),
            "shift": "25,-12.5,3",
        },
    )
    yield case("one process", job)
    with processes(size.pick(2, PROCESSES)) as count:
        yield case(f"beside {count} processes of {THREADS} threads each", job)


def case(name: str, job: Job) -> Case:
    """The job with the probe and without, in turn."""
    return Case(
        name=name,
        contestants=(
            Contestant(
                name=PROBED,
                how=f"{job.text}; Probe(timeline=True) around it",
                work=lambda folder: probed(job, folder),
                answer=answer,
            ),
            Contestant(
                name=PLAIN,
                how=job.text,
                work=lambda folder: plain(job, folder),
                answer=answer,
            ),
        ),
        bars=(
            Share(
                ours=PROBED, name=COST, at_most=0.01, text="the probe takes at most 1 % of a run"
            ),
            Ratio(ours=PROBED, peer=PLAIN, at_least=None, text="the run beside it, shown"),
        ),
        amount=1.0,
        unit="runs",
    )


def plain(job: Job, folder: Path) -> Sample:
    """The time of the run alone."""
    began = time.perf_counter()
    native.run(job, folder)
    return Sample(seconds=time.perf_counter() - began)


def probed(job: Job, folder: Path) -> Sample:
    """The time of the run, and microseconds of the probe of so many of the run."""
    with Probe(timeline=True) as probe:
        native.run(job, folder)
    wall_seconds = probe.usage.wall_seconds
    cost = (round(probe.timeline["cost_seconds"] * 1e6), round(wall_seconds * 1e6))
    return Sample(seconds=wall_seconds, counts={COST: cost})


def answer(folder: Path) -> Answer:
    """All bytes of the answer."""
    read = b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())
    return Answer(digest=hashlib.sha256(read).hexdigest(), rows=read.count(b"\n"))


@contextmanager
def processes(count: int) -> Iterator[int]:
    """So many idle processes below this one, each with its threads."""
    command = [sys.executable, "-c", _CHILD]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in running:
            assert process.stdout
            process.stdout.readline()
        yield count
    finally:
        for process in running:
            process.kill()
            process.communicate()
