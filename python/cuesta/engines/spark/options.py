"""Engine options of `spark` (`--master`, `--engine-option KEY=VALUE`), parsed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from cuesta.engines.dataflow import kernels_of
from cuesta.engines.rounds import SLOT_BYTES_MIN, check_memory
from cuesta.engines.spark import scala_options
from cuesta.errors import InputError
from cuesta.trial import Trial
from cuesta.units import parse_size

TASK_BYTES_MIN = 1
TASK_BYTES_MAX = 1 << 40
PARTITIONS_MAX = 1 << 20

JVM_OVERHEAD_BYTES = 384 << 20
"""Memory of code, threads and network buffers of the JVM."""
DRIVER_BYTES = 128 << 20
"""Memory of the driver's Python with its libraries."""
WORKER_BYTES = 192 << 20
"""Memory of a Python worker with its libraries and the rows of one split."""
HEAP_BYTES_MIN = 512 << 20
"""Spark refuses to start below about this."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the engine; none of them can change the answer.

    Attributes
    ----------
    master
        Spark's master: `local[N]`, `spark://HOST:PORT`, `yarn`, `k8s://...`.
    python
        The executors' Python interpreter.
    task_bytes
        Bytes of text that a task reads; None chooses by the size of the input.
    partitions
        Tasks of a stage of `dataflow`, three a slot by default; parts of `sort`, of 32 MiB each.
    kernels
        Kernels in the tasks of `dataflow`: `native`, or `numpy` for a program without our module.
    spark
        Settings whose names begin with `spark.`, unchanged.
    """

    master: str
    python: str
    task_bytes: int | None
    partitions: int | None
    kernels: str
    spark: tuple[tuple[str, str], ...]

    @property
    def is_local(self) -> bool:
        """Whether the executors are threads of the driver's JVM."""
        return self.master == "local" or self.master.startswith("local[")

    @property
    def has_local_cluster(self) -> bool:
        """Whether Spark starts its own master, workers and executors on this machine."""
        return self.master.startswith("local-cluster[")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a session: two trials with equal settings share one.

    Attributes
    ----------
    options
        The user's options, without those of a single trial.
    heap_bytes, overhead_bytes
        The memory limit, divided into the heap of a JVM and the rest on its node.
    jar
        The jar with workloads of an engine without Python workers, else empty.
    """

    options: Options
    heap_bytes: int
    overhead_bytes: int
    jar: str = ""


def settings_of(trial: Trial, jar: str = "") -> Settings:
    """Return the settings of the Spark session that runs `trial`.

    Arguments: `jar` has the workloads of engine `spark-scala`; empty for `spark`, whose tasks run
    in Python workers. Errors: `InputError` naming the option.
    """
    scala = bool(jar)
    # Trials that differ in these options alone share a session.
    options = replace(options_of(trial, scala=scala), task_bytes=None, partitions=None, kernels="")
    heap_bytes = _divide_memory(trial, scala=scala)[0]
    overhead_bytes = trial.memory_bytes - heap_bytes
    return Settings(options=options, heap_bytes=heap_bytes, overhead_bytes=overhead_bytes, jar=jar)


def tasks_bytes(trial: Trial) -> int:
    """Return memory for the tasks of rounds and their leader: as much as the heap has.

    Errors: `InputError` when the limit is too low.
    """
    return _divide_memory(trial, scala=False)[1]


def memory_for(threads: int) -> int:
    """Return memory for a session with twice the least heap and small tasks."""
    each = WORKER_BYTES + SLOT_BYTES_MIN
    return JVM_OVERHEAD_BYTES + DRIVER_BYTES + (threads + 1) * each + 4 * HEAP_BYTES_MIN


def _divide_memory(trial: Trial, *, scala: bool) -> tuple[int, int]:
    """Divide memory into heap and Python's tasks: all for the heap in Scala, else half each.

    On a cluster this applies to each node, which has a Python worker for each thread of `trial`.
    """
    overhead, least = JVM_OVERHEAD_BYTES, HEAP_BYTES_MIN
    if not scala:
        overhead += DRIVER_BYTES + trial.threads * WORKER_BYTES
        least += (trial.threads + 1) * SLOT_BYTES_MIN
    check_memory(trial, overhead + least, f"{trial.threads} threads")
    remaining = trial.memory_bytes - overhead
    heap = remaining if scala else max(HEAP_BYTES_MIN, remaining // 2)
    return heap, remaining - heap


def options_of(trial: Trial, *, scala: bool = False) -> Options:
    """Parse the options of `trial`. Errors: `InputError` naming an unknown one.

    Arguments: `scala` is whether they are for the engine without Python workers.
    """
    options = trial.engine_options
    known = {"kernels", "master", "partitions", "python", "task-bytes"}
    known |= scala_options.CHOICES.keys() if scala else set()
    unknown = [key for key in options if not key.startswith("spark.") and key not in known]
    # A comparison passes the flags of all engines to each.
    unknown = [key for key in unknown if key != "ranks"]
    if unknown:
        raise InputError(
            f"--engine-option {unknown[0]} is not known to engine {trial.engine}; it knows "
            f"{', '.join(sorted(known))} and all of Spark's own spark.*"
        )
    master = options.get("master", f"local[{trial.threads}]")
    if master.startswith("sc://"):
        raise InputError(
            f"--master {master} is a Spark Connect server; name the cluster's master itself, "
            "such as spark://HOST:7077 or yarn"
        )
    spark = {key: options[key] for key in options if key.startswith("spark.")}
    spark |= scala_options.session_settings(trial) if scala else {}
    return Options(
        master=master,
        python=options.get("python", sys.executable),
        task_bytes=_task_bytes(options.get("task-bytes")),
        partitions=_partitions(options.get("partitions")),
        # A comparison passes the flags of all engines to each.
        kernels="native" if scala else kernels_of(trial),
        spark=tuple(sorted(spark.items())),
    )


def _task_bytes(text: str | None) -> int | None:
    if text is None:
        return None
    size_bytes = parse_size(text, "--engine-option task-bytes")
    if not TASK_BYTES_MIN <= size_bytes <= TASK_BYTES_MAX:
        raise InputError(f"--engine-option task-bytes is {text}, give 1 byte to 1TiB")
    return size_bytes


def _partitions(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isdecimal() and 1 <= int(text) <= PARTITIONS_MAX):
        raise InputError(f"--engine-option partitions is {text}, give 1 to {PARTITIONS_MAX}")
    return int(text)
