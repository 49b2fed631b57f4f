"""Engines: what executes a workload. One Protocol, one file an engine, imported when asked for.

To add one: write `engines/<name>.py` with a class that satisfies `Engine`, whose module imports
without the engine's own packages (import those inside methods), and add it to `_CLASSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from cuesta.errors import InputError
from cuesta.trial import Outcome, RemoteUse, Stage, Trial

Progress = Callable[[int, int], None]
"""Called now and then with (done, total) in bytes or rows; total 0 means unknown."""

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
"""Modules some of whose threads have locks that a forked child waits for without end; how the names
of those threads begin, and the name of the library. They start with the first context or client,
and never end. Others have threads of the same names, e.g. Polars, which no engine runs."""

ENGINE_NAMES: tuple[str, ...] = tuple(_CLASSES)


class Engine(Protocol):
    """Runs trials. Made without arguments, and cheap to make."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def workloads(self) -> frozenset[str]:
        """Names of the workloads it can run."""
        ...

    def missing(self) -> str | None:
        """One sentence that says what to install, or None when the engine can be used here."""
        ...

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` and write its files into `output`.

        Arguments: `output` is an existing empty folder; `scratch` an existing folder for temporary
        files, which the caller empties. The folder that `scratch` is in is the run's own, too, and
        goes with it: what outlives a run of an engine may be there. Errors: `InputError` for what
        the user can mend in the arguments or the data, `EngineError` when the engine itself broke.
        """
        ...


@runtime_checkable
class ReportsProgress(Protocol):
    """An engine that can say how far it is."""

    def with_progress(self, progress: Progress) -> Engine:
        """The same engine, calling `progress` while it runs."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """An engine that may have to make something before it runs, outside the time of a run."""

    def prepare(self, say: Callable[[str], None]) -> None:
        """Make what is not there yet; `say` hears a sentence before it takes long."""
        ...


@runtime_checkable
class HasVariants(Protocol):
    """An engine some of whose options need more than the engine itself."""

    def missing_for(self, trial: Trial) -> str | None:
        """One sentence that says what to install for the options of `trial`, or None."""
        ...


@runtime_checkable
class ReadsUris(Protocol):
    """An engine whose tasks read URIs, such as `hdfs://`, through `cuesta.uris`."""

    @property
    def reads_uris(self) -> bool:
        """True."""
        ...


@runtime_checkable
class ReadsRemote(Protocol):
    """An engine with a client of its own for URIs, to look at them and to copy them.

    It comes before `ReadsUris` where an engine is both.
    """

    def remote_facts(self, trial: Trial, uri: str, scratch: Path) -> tuple[int, int]:
        """Bytes and files at `uri`. Errors: `InputError` when there is nothing."""
        ...

    def fetch(self, trial: Trial, uri: str, scratch: Path) -> Path:
        """Copy the file or folder at `uri` into `scratch`; return the copy."""
        ...


@runtime_checkable
class KeepsLog(Protocol):
    """An engine that has a log of its own, to be asked outside the time of a run."""

    def told(self) -> Mapping[str, float]:
        """Sums of what the log says of the run that ended last: counts, `_seconds`, `_bytes`."""
        ...


@runtime_checkable
class HasStages(Protocol):
    """An engine whose log has the times of stages, to be asked once the log was asked."""

    def stages(self) -> Sequence[Stage]:
        """Those of the run that the log told of last, in the order they began."""
        ...


@runtime_checkable
class RunsElsewhere(Protocol):
    """An engine whose processes need not be descendants of this one."""

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Use of those of the last run that are none; None where there were no such processes."""
        ...


@runtime_checkable
class HasLimits(Protocol):
    """An engine whose own limits can be measured: tasks without work, and its transport."""

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Samples, `repeats` of each, by a name that ends in what is counted: `tasks_per_s`.

        Arguments: `folder` is an empty one for temporary files. Errors: as `run`.
        """
        ...


@runtime_checkable
class HoldsSession(Protocol):
    """An engine that keeps a service (a JVM) between runs."""

    def close(self) -> None:
        """End the service. Calling it twice does no harm."""
        ...


def get_engine(name: str) -> Engine:
    """The engine called `name`, whether or not it can be used here (ask `missing`)."""
    if name not in _CLASSES:
        raise InputError(f"engine {name!r} is not known; choose from {', '.join(ENGINE_NAMES)}")
    module, class_name = _CLASSES[name]
    return cast(Engine, getattr(import_module(module), class_name)())
