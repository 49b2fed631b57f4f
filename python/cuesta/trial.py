"""The values every engine sees: what to run (`Trial`) and what came of it (`Outcome`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run to make.

    Attributes
    ----------
    workload
        Name of the workload, e.g. `scan`.
    engine
        Name of the engine, e.g. `native`.
    inputs
        Paths, in the order the workload gives them a meaning (`join`: left, right).
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
        File that names the genes of the answer, such as `genes.tsv`; None where nobody gave one.
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
    an engine that is asked to find its data there; the rest have the words of the workload.

    Attributes
    ----------
    name
        What was done, in one or two lower-case words.
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
        What the engine calls it.
    began
        Seconds since 1970, when it was handed to the scheduler.
    seconds
        Until its last task had ended.
    tasks
        How many it has.
    """

    name: str
    began: float
    seconds: float
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an engine says about a run it has finished.

    Attributes
    ----------
    phases
        In the order they ran.
    counts
        Whole numbers worth keeping: `rows_read`, `rows_kept`, `jvm_peak_bytes`...
    versions
        Name and version of what the engine brought along, e.g. `{"spark": "4.3.0"}`.
    """

    phases: tuple[Phase, ...]
    counts: Mapping[str, int]
    versions: Mapping[str, str] = field(default_factory=dict)


def is_remote(path: str) -> bool:
    """Whether an input is a URI, such as `hdfs://`."""
    return "://" in path


def is_stored(path: str) -> bool:
    """Whether an input is a path in the store of this machine."""
    return path.startswith("cuesta://")
