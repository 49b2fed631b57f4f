"""Contestants that most benches have: cuesta in this process, and a plain read of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness import native
from harness.model import Answer, Contestant
from harness.native import Job

CUESTA = "cuesta"
COMMAND = "cuesta command"
READ = "plain read"


def cuesta(job: Job, answer: Callable[[Path], Answer], name: str = CUESTA) -> Contestant:
    """The native engine in this process; time of the whole call."""

    def work(folder: Path) -> None:
        native.run(job, folder)

    return Contestant(name=name, how=job.text, work=work, answer=answer)


def command(job: Job, answer: Callable[[Path], Answer]) -> Contestant:
    """The command as users start it; `answer` is called with the answer folder."""
    return Contestant(
        name=COMMAND,
        how="the whole process: start, run, verification, run record",
        work=lambda folder: native.command(job, folder),
        answer=lambda folder: answer(folder / "answer"),
        repeats_max=3,
    )


def plain_read(path: Path) -> Contestant:
    """A loop of `pread` that looks at nothing: the ceiling of whatever reads the file."""
    return Contestant(
        name=READ,
        how="2 threads, pread of 256 KiB into one buffer each, page cache warm",
        work=lambda _: native.read_warm(path),
    )
