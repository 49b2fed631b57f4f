"""The context of a workload's run: the session, the trial, a clock and a tally."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cuesta.engines import Progress
from cuesta.engines.spark.executor import PythonTimes, Tally, TallyParam
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.session import Session
from cuesta.trial import Phase, Trial

if TYPE_CHECKING:
    from pyspark import Accumulator, AccumulatorParam

PROGRESS_SECONDS = 0.2


@dataclass(kw_only=True)
class Measure:
    """Amounts that a phase processed; filled in while it runs."""

    bytes: int | None = None
    rows: int | None = None
    flops: int | None = None


class Context:
    """A run in a session.

    Attributes
    ----------
    session, trial, output
        Spark's session, the trial to run, and the folder for the answer.
    scratch
        A folder for temporary files, emptied by the caller.
    task_bytes
        Bytes of text that a task reads; None unless the user chose it.
    tally
        Accumulator in which tasks report their progress.
    times
        Times of Python workers in tasks.
    phases
        Phases that have ended.
    """

    def __init__(self, session: Session, trial: Trial, output: Path) -> None:
        self.session = session
        self.trial = trial
        self.output = output
        self.phases: list[Phase] = []
        adding = cast("AccumulatorParam[Tally]", TallyParam())
        self.tally: Accumulator[Tally] = session.spark.sparkContext.accumulator({}, adding)
        sums = session.spark.sparkContext.accumulator
        self.times = PythonTimes(cpu=sums(0.0), queued=sums(0.0), blocked=sums(0.0))
        self.task_bytes = options_of(trial).task_bytes
        self.progress: Progress | None = None
        self.scratch = output

    def done_bytes(self) -> int:
        """Return the bytes of tasks that have ended."""
        return sum(self.tally.value.values())

    def watched(self, size_bytes: int) -> AbstractContextManager[None]:
        """Report progress through `size_bytes`, as tasks report them."""
        return _watched(self.progress, self.done_bytes, Measure(bytes=size_bytes))

    @contextmanager
    def phase(self, name: str, *, ceiling: str | None = None) -> Iterator[Measure]:
        """Time a phase; with `bytes` set at its start, report progress while it runs."""
        measure = Measure()
        started = time.perf_counter()
        # The bytes of an answer do not count as progress through the input.
        progress = None if name == "write" else self.progress
        with _watched(progress, self.done_bytes, measure):
            yield measure
        self.phases.append(
            Phase(
                name=name,
                seconds=time.perf_counter() - started,
                bytes=measure.bytes,
                rows=measure.rows,
                flops=measure.flops,
                ceiling=ceiling,
            )
        )


@contextmanager
def _watched(
    progress: Progress | None, done_bytes: Callable[[], int], measure: Measure
) -> Iterator[None]:
    if progress is None:
        yield
        return
    done, before = threading.Event(), done_bytes()

    def watch() -> None:
        while not done.wait(PROGRESS_SECONDS):
            if measure.bytes:
                progress(min(done_bytes() - before, measure.bytes), measure.bytes)

    watcher = threading.Thread(target=watch, name="cuesta-spark-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
