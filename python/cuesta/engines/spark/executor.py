"""What every executor answers and counts, whatever the workload.

Everything here is found by name on the executors, which have this package too.
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
"""What the kernel keeps of the name that Spark gives threads with tasks."""
_ANCESTORS_MAX = 3

Tally = dict[tuple[str, int], int]
"""By phase and number of the task: bytes that are done. What ran twice counts once."""


class TallyParam:
    """Adds tallies. PySpark asks for the methods of its `AccumulatorParam`, not for the class."""

    def zero(self, _value: Tally) -> Tally:
        """Nothing done."""
        return {}

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802
        """Both."""
        value1.update(value2)
        return value1


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Accumulators of what the Python workers of a run spent in the functions of its tasks.

    Spark counts the processor time of the JVM alone.

    Attributes
    ----------
    cpu
        Seconds of processors.
    queued
        Seconds that they, or the threads of the JVM that feed them, were ready for a core and had
        none.
    blocked
        Seconds of kernels, which read and write files, in neither.
    """

    cpu: Accumulator[float]
    queued: Accumulator[float]
    blocked: Accumulator[float]

    def found(self) -> dict[str, float]:
        """Sums over tasks, as a record has them in `engine_log`."""
        sums = {"cpu": self.cpu, "queued": self.queued, "blocked": self.blocked}
        return {f"python_{name}_seconds": one.value for name, one in sums.items()}

    @contextlib.contextmanager
    def in_kernel(self) -> Iterator[None]:
        """While a kernel runs in a task: what it waited for its files is counted."""
        wall, used = time.perf_counter(), time.process_time() + _queued_seconds()
        yield
        used = time.process_time() + _queued_seconds() - used
        self.blocked.add(max(0.0, time.perf_counter() - wall - used))


def counted(
    spent: Spent, function: Callable[[Iterable[Any]], Iterator[T]], rows: Iterable[Any]
) -> Iterator[T]:
    """What a function makes of the rows of a task. A Python worker has one task at a time."""
    cpu, queued, feeding = time.process_time(), _queued_seconds(), _Feeding()
    yield from function(rows)
    spent.cpu.add(time.process_time() - cpu)
    spent.queued.add(max(0.0, _queued_seconds() - queued) + feeding.queued_seconds())


def _queued_seconds() -> float:
    """What the threads of this process waited for a core; 0 where the kernel does not say."""
    return sum(spent.queued for one in _threads("self") if (spent := _spent(one)))


class _Feeding:
    """The threads of the JVM that have tasks by now: each feeds a worker like this one.

    Which of them feeds this worker can't be known, so that a task counts their mean.
    """

    def __init__(self) -> None:
        folders = feeding(int(time.monotonic()))
        self._before = {folder: spent for folder in folders if (spent := _spent(folder))}

    def queued_seconds(self) -> float:
        """What one of them waited for a core since; 0 where the kernel does not say."""
        queued = []
        for folder, before in self._before.items():
            now = _spent(folder)
            if now and now.ran > before.ran:
                queued.append(now.queued - before.queued)
        return sum(queued) / len(queued) if queued else 0.0


class _Thread(NamedTuple):
    """Seconds that a thread had a core, and that it was ready for one and had none."""

    ran: float
    queued: float


def _threads(process: str) -> list[Path]:
    return list(Path("/proc", process, "task").glob("*"))


@lru_cache(maxsize=1)
def feeding(_second: int) -> list[Path]:
    """The threads of the JVM that have tasks. To find them takes 2 ms: once a second is enough."""
    found = []
    for folder in _threads(jvm()) if jvm() else ():
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text("utf-8").startswith(_TASK_THREADS):
                found.append(folder)
    return found


def _spent(folder: Path) -> _Thread | None:
    """Of a thread, or None: it has ended, or the kernel does not say."""
    with contextlib.suppress(OSError, ValueError):
        ran, queued, _ = (folder / "schedstat").read_text("ascii").split()
        return _Thread(ran=int(ran) / 1e9, queued=int(queued) / 1e9)
    return None


@cache
def jvm() -> str:
    """The process that started this worker, or the daemon that did; "" where that is not a JVM."""
    process = os.getppid()
    for _ in range(_ANCESTORS_MAX):
        with contextlib.suppress(OSError, ValueError):
            name, rest = Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)
            if name.endswith("(java"):
                return str(process)
            process = int(rest.split()[1])
    return ""


def version() -> str:
    """Version of this package, with that of the kernels in it."""
    from cuesta import __version__, _native

    return f"{__version__}/{_native.__version__}"


def greet(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row an executor's slot: its version, and the node that it is on."""
    import pyarrow as pa

    for batch in batches:
        rows = batch.num_rows
        # Several nodes of a cluster may be one machine, and say so.
        node = os.environ.get("CUESTA_NODE") or platform.node()
        found = {"version": [version()] * rows, "node": [node] * rows}
        yield pa.RecordBatch.from_pydict(found)


def passed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they came."""
    yield from batches
