"""Engines, which execute workloads: a Protocol, and one module for each, imported on demand.

To add one: write `engines/<name>.py` with a class that satisfies `Engine`, whose module imports
without the engine's own packages (import those inside methods), and add it to `_CLASSES`.

Safe to change: how an engine carries work. What breaks: `tests/engines/test_conformance.py` holds
each engine to the same answers; an engine that imports its own packages at module level slows
every command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from cuesta.errors import InputError
from cuesta.trial import Outcome, RemoteUse, Stage, Trial

Progress = Callable[[int, int], None]
"""Callback for progress, with (done, total) in bytes or rows; total 0 means unknown."""

_CLASSES = {
    "native": ("cuesta.engines.native", "NativeEngine"),
    "spark": ("cuesta.engines.spark", "SparkEngine"),
    "spark-scala": ("cuesta.engines.spark_scala", "SparkScalaEngine"),
    "mpi": ("cuesta.engines.mpi", "MpiEngine"),
    "dask": ("cuesta.engines.dask", "DaskEngine"),
    "hadoop": ("cuesta.engines.hadoop", "HadoopEngine"),
    "array": ("cuesta.engines.array", "ArrayEngine"),
}

NEVER_FORKED = {
    "tiledb": ("AwsEventLoop", "TileDB"),
    "hdfs_native": ("tokio-rt-worker", "hdfs-native"),
}
"""Modules with threads whose locks a forked child would wait for forever: prefix of the names of
those threads, and library. The threads start with the first context or client and never end.
Other libraries have threads of the same names, e.g. Polars, which no engine runs."""

ENGINE_NAMES: tuple[str, ...] = tuple(_CLASSES)


class Engine(Protocol):
    """Runs trials. Constructed without arguments, and cheap to construct."""

    @property
    def name(self) -> str:
        """Name of the engine on the command line."""
        ...

    @property
    def workloads(self) -> frozenset[str]:
        """Names of the workloads that the engine can run."""
        ...

    def missing(self) -> str | None:
        """Describe in a sentence what to install, or return None if the engine is usable here."""
        ...

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` and write its files into `output`.

        Arguments: `output` is an existing empty folder; `scratch` an existing folder for temporary
        files, which the caller empties. The parent of `scratch` belongs to the command and is
        removed at its end: files that outlive a run of an engine may be there. Errors: `InputError`
        for errors in the arguments or the data, `EngineError` when the engine itself failed.
        """
        ...


@runtime_checkable
class ReportsProgress(Protocol):
    """An engine that reports its progress."""

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy of the engine that calls `progress` while it runs."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """An engine that may have files to build before it runs, outside the time of a run."""

    def prepare(self, report: Callable[[str], None]) -> None:
        """Build missing files; call `report` with a sentence before a long step."""
        ...


@runtime_checkable
class HasVariants(Protocol):
    """An engine with options that need additional software."""

    def missing_for(self, trial: Trial) -> str | None:
        """Describe in a sentence what to install for the options of `trial`, or return None."""
        ...


@runtime_checkable
class ReadsUris(Protocol):
    """An engine whose tasks read URIs, such as `hdfs://`, through `cuesta.uris`."""

    @property
    def reads_uris(self) -> bool:
        """Always True."""
        ...


@runtime_checkable
class ReadsRemote(Protocol):
    """An engine with its own client for URIs, to query and to copy them.

    It takes precedence over `ReadsUris` where an engine is both.
    """

    def remote_facts(self, trial: Trial, uri: str, scratch: Path) -> tuple[int, int]:
        """Return bytes and number of files at `uri`. Errors: `InputError` without any file."""
        ...

    def fetch(self, trial: Trial, uri: str, scratch: Path) -> Path:
        """Copy the file or folder at `uri` into `scratch`; return the copy."""
        ...


@runtime_checkable
class HasLog(Protocol):
    """An engine with its own log, which is read outside the time of a run."""

    def log_totals(self) -> Mapping[str, float]:
        """Return totals from the log of the last run: counts, `_seconds`, `_bytes`."""
        ...


@runtime_checkable
class HasStages(Protocol):
    """An engine whose log has the times of stages, available after `log_totals`."""

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the run that `log_totals` read last, in the order they began."""
        ...


@runtime_checkable
class HasRemoteUse(Protocol):
    """An engine whose processes need not be descendants of this one."""

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Return the use by other processes in the last run; None where there were none."""
        ...


@runtime_checkable
class HasLimits(Protocol):
    """An engine whose limits can be measured: rate of empty tasks, and of its transport."""

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Return `repeats` samples of each limit, by a name with its unit: `tasks_per_s`.

        Arguments: `folder` is an empty one for temporary files. Errors: as `run`.
        """
        ...


@runtime_checkable
class HasSession(Protocol):
    """An engine with a service (a JVM) that runs until `close`."""

    def close(self) -> None:
        """End the service. A second call has no effect."""
        ...


def get_engine(name: str) -> Engine:
    """Return the engine called `name`, whether or not it is usable here (see `missing`)."""
    if name not in _CLASSES:
        raise InputError(f"engine {name!r} is not known; choose from {', '.join(ENGINE_NAMES)}")
    module, class_name = _CLASSES[name]
    return cast(Engine, getattr(import_module(module), class_name)())
