"""The values that all engines share: a run to make (`Trial`) and its result (`Outcome`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

STANDARD_INPUT = "-"
"""In the place of a path, an input that is read from standard input."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A run to make.

    Attributes
    ----------
    workload
        Name of the workload, e.g. `scan`.
    engine
        Name of the engine, e.g. `native`.
    inputs
        Paths, in the order that the workload defines (`join`: left, right).
        `STANDARD_INPUT` may be one of them until the run begins.
    parameters
        Every parameter of the workload by its name in `params.toml`, checked and in its own type:
        bool, int, float, str, or None for "no limit".
    threads
        Cores the engine may use, at least 1.
    memory_bytes
        Hard limit of the memory the engine may hold.
    seed
        Seed of whatever the workload draws at random.
    engine_options
        Settings of the engine itself that cannot change the answer, e.g. `master` for Spark.
    names
        File that names the genes of the answer, such as `genes.tsv`; None where none was given.
    """

    workload: str
    engine: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, object]
    threads: int
    memory_bytes: int
    seed: int = 0
    engine_options: Mapping[str, str] = field(default_factory=dict)
    names: str | None = None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A named part of a run, timed on one clock; phases do not overlap.

    `start` is bringing up a session (a JVM), `load` is filling an array database or the cache of
    an engine that is told to read its data there; the other names are those of the workload.

    Attributes
    ----------
    name
        The activity, in one or two lower-case words.
    seconds
        Wall time.
    bytes
        Bytes of input, or of memory, that the phase had to move; None when it has no such measure.
    rows
        Rows the phase went over.
    flops
        Floating-point operations the phase had to do.
    ceiling
        Name of the ceiling it is compared with, e.g. `file_read_warm_bytes_per_s`. The name's
        ending chooses the measure: `_bytes_per_s`, `_rows_per_s` or `_flops_per_s`.
    """

    name: str
    seconds: float
    bytes: int | None = None
    rows: int | None = None
    flops: int | None = None
    ceiling: str | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stretch of tasks that an engine runs side by side, on the clock of the machine.

    Attributes
    ----------
    name
        Its name in the engine.
    began
        Seconds since 1970, when it was handed to the scheduler.
    seconds
        Until its last task had ended.
    tasks
        Number of its tasks.
    each
        By name of a measure one number for each task that succeeded, in the order they were
        launched; see `TASK_MEASURES`. Empty where the engine does not know, or has too many tasks.
    """

    name: str
    began: float
    seconds: float
    tasks: int
    each: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


TASK_MEASURES = {
    "task_seconds": "from its launch to its end",
    "scheduler_delay_seconds": "of them, until it ran, and until its end was known",
    "fetch_wait_seconds": "of them, waiting for bytes of other tasks",
    "gc_seconds": "of them, garbage collection",
    "serialize_seconds": "of them, reading and writing what it was sent and found",
    "cpu_seconds": "time of processors, only where all processes of a task are in it",
    "input_bytes": "read",
    "exchange_bytes": "got from other tasks",
    "output_bytes": "written",
}
"""Measures that a task of a `Stage` may have; a missing measure was not taken, or is 0."""
STAGES_MAX = 1000
"""Largest number of stages of a run that are recorded, the first ones."""
TASKS_MAX = 10_000
"""Largest number of tasks of a run that are recorded, in complete stages, the first ones."""


def measured(tasks: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """`Stage.each` of tasks: to the millisecond, and without measures that are 0 in all of them."""
    columns = {
        name: tuple(round(task.get(name, 0.0), 3) for task in tasks) for name in TASK_MEASURES
    }
    return {name: column for name, column in columns.items() if any(column)}


def limit_tasks(stages: Iterable[Stage]) -> list[Stage]:
    """The stages, without `each` where the tasks so far exceed `TASKS_MAX`."""
    remaining = TASKS_MAX
    result = []
    for stage in stages:
        count = max(map(len, stage.each.values()), default=0)
        remaining -= count
        result.append(stage if remaining >= 0 else replace(stage, each={}))
    return result


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Report of an engine about a run it has finished.

    Attributes
    ----------
    phases
        In the order they ran.
    counts
        Integers worth recording: `rows_read`, `rows_kept`, `jvm_peak_bytes`...
    versions
        Name and version of the engine's software, e.g. `{"spark": "4.3.0"}`.
    """

    phases: tuple[Phase, ...]
    counts: Mapping[str, int]
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RemoteUse:
    """Resource use of the processes of a run that are not descendants of the measuring process.

    None is for what cannot be counted.

    Attributes
    ----------
    processes, nodes
        Number of processes, and of the nodes they ran on.
    peak_resident_bytes
        The sum of the high-water marks of all of them.
    """

    processes: int | None = None
    nodes: int | None = None
    cpu_seconds: float | None = None
    peak_resident_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    device_read_bytes: int | None = None
    device_written_bytes: int | None = None


def is_remote(path: str) -> bool:
    """Whether an input is a URI, such as `hdfs://`."""
    return "://" in path


def is_path(text: str) -> bool:
    """Whether an input is a path of this machine: no URI, and not standard input."""
    return text != STANDARD_INPUT and not is_remote(text)


def is_stored(path: str) -> bool:
    """Whether an input is a path in the store of this machine."""
    return path.startswith("cuesta://")
