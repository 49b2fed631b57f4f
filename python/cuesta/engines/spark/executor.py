"""Functions and counters of executors, for all workloads.

They are pickled by name, since executors have this package, too.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Accumulator

T = TypeVar("T")

_TASK_THREADS = "Executor task l"
"""Names of Spark's threads with tasks, as the kernel shortens them."""
_ANCESTORS_MAX = 3

Tally = dict[tuple[str, int], int]
"""Bytes done, by phase and number of the task. A repeated task counts once."""


class TallyParam:
    """Adds tallies. PySpark asks for the methods of its `AccumulatorParam`, not for the class."""

    def zero(self, _value: Tally) -> Tally:
        """Return an empty tally."""
        return {}

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802
        """Return the union of both."""
        value1.update(value2)
        return value1


@dataclass(frozen=True, kw_only=True)
class PythonTimes:
    """Accumulators of a run's times in Python workers, inside the functions of tasks.

    Spark counts the processor time of the JVM alone.

    Attributes
    ----------
    cpu
        Seconds of processor time.
    queued
        Seconds in which workers, or the threads of the JVM that feed them, waited for a core.
    blocked
        Seconds of kernels in neither state: waits for files.
    """

    cpu: Accumulator[float]
    queued: Accumulator[float]
    blocked: Accumulator[float]

    def totals(self) -> dict[str, float]:
        """Return sums over tasks, for the `engine_log` of a record."""
        sums = {"cpu": self.cpu, "queued": self.queued, "blocked": self.blocked}
        return {f"python_{name}_seconds": total.value for name, total in sums.items()}

    @contextlib.contextmanager
    def in_kernel(self) -> Iterator[None]:
        """Count the time that a kernel in a task waits for files, while in this context."""
        wall, used = time.perf_counter(), time.process_time() + _queued_seconds()
        yield
        used = time.process_time() + _queued_seconds() - used
        self.blocked.add(max(0.0, time.perf_counter() - wall - used))


def counted(
    times: PythonTimes, function: Callable[[Iterable[Any]], Iterator[T]], rows: Iterable[Any]
) -> Iterator[T]:
    """Yield a function's results for a task, counting its times. Workers run a task at a time."""
    cpu, queued, feeding = time.process_time(), _queued_seconds(), _Feeding()
    yield from function(rows)
    times.cpu.add(time.process_time() - cpu)
    times.queued.add(max(0.0, _queued_seconds() - queued) + feeding.queued_seconds())


def _queued_seconds() -> float:
    """Return seconds that threads of this process waited for a core; 0 if not reported."""
    return sum(times.queued for thread in _threads("self") if (times := _thread_times(thread)))


class _Feeding:
    """Threads of the JVM that have tasks: each feeds a Python worker.

    The thread that feeds this worker is unknown, so a task counts their mean.
    """

    def __init__(self) -> None:
        folders = feeding(int(time.monotonic()))
        self._before = {folder: times for folder in folders if (times := _thread_times(folder))}

    def queued_seconds(self) -> float:
        """Return the mean wait of a thread for a core since then; 0 if not reported."""
        queued = []
        for folder, before in self._before.items():
            now = _thread_times(folder)
            if now and now.ran > before.ran:
                queued.append(now.queued - before.queued)
        return sum(queued) / len(queued) if queued else 0.0


class _Thread(NamedTuple):
    """Seconds that a thread ran, and that it waited for a core."""

    ran: float
    queued: float


def _threads(process: str) -> list[Path]:
    return list(Path("/proc", process, "task").glob("*"))


@lru_cache(maxsize=1)
def feeding(_second: int) -> list[Path]:
    """Return threads of the JVM with tasks; cached for a second, since the search takes 2 ms."""
    threads = []
    for folder in _threads(jvm()) if jvm() else ():
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text("utf-8").startswith(_TASK_THREADS):
                threads.append(folder)
    return threads


def _thread_times(folder: Path) -> _Thread | None:
    """Return the times of a thread; None if it has ended, or the kernel reports none."""
    with contextlib.suppress(OSError, ValueError):
        ran, queued, _ = (folder / "schedstat").read_text("ascii").split()
        return _Thread(ran=int(ran) / 1e9, queued=int(queued) / 1e9)
    return None


@cache
def jvm() -> str:
    """Return the JVM that started this worker or its daemon; "" where that is no JVM."""
    process = os.getppid()
    for _ in range(_ANCESTORS_MAX):
        with contextlib.suppress(OSError, ValueError):
            name, rest = Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)
            if name.endswith("(java"):
                return str(process)
            process = int(rest.split()[1])
    return ""


def version() -> str:
    """Return the versions of this package and of its kernels."""
    from cuesta import __version__, _native

    return f"{__version__}/{_native.__version__}"


def greet(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row for each slot of an executor: its version and its node."""
    import pyarrow as pa

    for batch in batches:
        rows = batch.num_rows
        # Several nodes of a cluster may be one machine; they set the variable.
        node = os.environ.get("CUESTA_NODE") or platform.node()
        columns = {"version": [version()] * rows, "node": [node] * rows}
        yield pa.RecordBatch.from_pydict(columns)


def passed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows unchanged."""
    yield from batches
