"""Engine options of `spark` (`--master`, `--engine-option KEY=VALUE`) in their own types."""

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

JVM_BESIDE_HEAP_BYTES = 384 << 20
"""Code, threads and network buffers of the JVM."""
DRIVER_BYTES = 128 << 20
"""The driver's Python with its libraries."""
WORKER_BYTES = 192 << 20
"""A Python worker with its libraries and the rows of one split."""
HEAP_BYTES_MIN = 512 << 20
"""Spark refuses to start below about this."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be said to the engine; none of it can change the answer.

    Attributes
    ----------
    master
        Where Spark runs: `local[N]`, `spark://HOST:PORT`, `yarn`, `k8s://...`.
    python
        The executors' Python interpreter.
    task_bytes
        Bytes of text a task reads; chosen by the size of the input when None.
    partitions
        Tasks of a stage of `dataflow`, three a slot when None; parts of `sort`, 32 MiB each.
    kernels
        What computes inside the tasks of `dataflow`: `native`, or `numpy` without us.
    spark
        Settings whose names begin with `spark.`, as they are.
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
        """Whether Spark starts a master, workers and executors of its own on this machine."""
        return self.master.startswith("local-cluster[")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a session depends on: two trials with equal settings share one.

    Attributes
    ----------
    options
        The user's, but those of a trial alone.
    heap_bytes, overhead_bytes
        The limit of memory, as the heap of a JVM and as what its node has beside that.
    jar
        The workloads of an engine without Python workers.
    """

    options: Options
    heap_bytes: int
    overhead_bytes: int
    jar: str = ""


def settings_of(trial: Trial, jar: str = "") -> Settings:
    """The settings of the session that `trial` needs. Errors: `InputError` naming the option.

    Arguments: `jar` holds the workloads of an engine that has no Python workers.
    """
    scala = bool(jar)
    options = replace(options_of(trial, scala=scala), task_bytes=None, partitions=None, kernels="")
    heap_bytes = _divided(trial, scala=scala)[0]
    overhead_bytes = trial.memory_bytes - heap_bytes
    return Settings(options=options, heap_bytes=heap_bytes, overhead_bytes=overhead_bytes, jar=jar)


def tasks_bytes(trial: Trial) -> int:
    """Memory for the tasks of rounds and for what leads them: as much as the heap has.

    Errors: `InputError` when the limit is too low.
    """
    return _divided(trial, scala=False)[1]


def memory_for(threads: int) -> int:
    """Memory in which a session has twice the least heap, with small tasks."""
    each = WORKER_BYTES + SLOT_BYTES_MIN
    return JVM_BESIDE_HEAP_BYTES + DRIVER_BYTES + (threads + 1) * each + 4 * HEAP_BYTES_MIN


def _divided(trial: Trial, *, scala: bool) -> tuple[int, int]:
    """The heap, and what Python processes have for tasks: all of it in Scala, else half each.

    On a cluster it is so on each node, whose Python workers are as many as `trial` has threads.
    """
    beside, least = JVM_BESIDE_HEAP_BYTES, HEAP_BYTES_MIN
    if not scala:
        beside += DRIVER_BYTES + trial.threads * WORKER_BYTES
        least += (trial.threads + 1) * SLOT_BYTES_MIN
    check_memory(trial, beside + least, f"{trial.threads} threads")
    left = trial.memory_bytes - beside
    heap = left if scala else max(HEAP_BYTES_MIN, left // 2)
    return heap, left - heap


def options_of(trial: Trial, *, scala: bool = False) -> Options:
    """The options of `trial`. Errors: `InputError` naming one that is not known.

    Arguments: `scala` tells whether they are for the engine without Python workers.
    """
    given = trial.engine_options
    known = {"kernels", "master", "partitions", "python", "task-bytes"}
    known |= scala_options.CHOICES.keys() if scala else set()
    unknown = [key for key in given if not key.startswith("spark.") and key not in known]
    # A comparison hands the flags of every engine to each.
    unknown = [key for key in unknown if key != "ranks"]
    if unknown:
        raise InputError(
            f"--engine-option {unknown[0]} is not known to engine {trial.engine}; it knows "
            f"{', '.join(sorted(known))} and all of Spark's own spark.*"
        )
    master = given.get("master", f"local[{trial.threads}]")
    if master.startswith("sc://"):
        raise InputError(
            f"--master {master} is a Spark Connect server; name the cluster's master itself, "
            "such as spark://HOST:7077 or yarn"
        )
    spark = {key: given[key] for key in given if key.startswith("spark.")}
    spark |= scala_options.session_settings(trial) if scala else {}
    return Options(
        master=master,
        python=given.get("python", sys.executable),
        task_bytes=_task_bytes(given.get("task-bytes")),
        partitions=_partitions(given.get("partitions")),
        # A comparison hands the flags of every engine to each.
        kernels="native" if scala else kernels_of(trial),
        spark=tuple(sorted(spark.items())),
    )


def _task_bytes(given: str | None) -> int | None:
    if given is None:
        return None
    size_bytes = parse_size(given, "--engine-option task-bytes")
    if not TASK_BYTES_MIN <= size_bytes <= TASK_BYTES_MAX:
        raise InputError(f"--engine-option task-bytes is {given}, give 1 byte to 1TiB")
    return size_bytes


def _partitions(given: str | None) -> int | None:
    if given is None:
        return None
    if not (given.isdecimal() and 1 <= int(given) <= PARTITIONS_MAX):
        raise InputError(f"--engine-option partitions is {given}, give 1 to {PARTITIONS_MAX}")
    return int(given)
