"""Engines, which execute workloads: a base class, and one module for each, imported on demand.

To add one: write `engines/<name>.py` with a subclass of `Engine`, whose module imports without the
engine's own packages (import those inside methods), and add it to `_CLASSES`.

Safe to change: how an engine carries work. What breaks: `cuesta.testing.EngineContract` holds each
engine to the same answers; an engine that imports its own packages at module level slows
every command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

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


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Abilities of an engine that its callers ask for; each is absent by default.

    `cuesta.testing.EngineContract` compares them with the functions of each engine.

    Attributes
    ----------
    reads_uris
        Whether its tasks read URIs, such as `hdfs://`, through `cuesta.uris`.
    has_uri_client
        Whether it reads URIs by a client of its own, which queries and copies them with
        `remote_facts` and `fetch`; then `reads_uris` is False.
    has_variants
        Whether some of its options need additional software, as `missing_for` describes.
    has_session
        Whether a service (a JVM, workers) is shared by its runs and continues until `close`.
    has_log
        Whether `log_totals` reads totals from a log of the last run.
    has_stages
        Whether that log has the times of the stages, for `stages`.
    has_limits
        Whether `limits` measures the rate of empty tasks, and of its transport.
    shuffles_text
        Whether its shuffle takes pairs of text.
    keeps_state
        Whether the same worker runs the tasks and parts of a number in all rounds, so that it may
        keep data in memory from one round to the next.
    begins_slowly
        Whether a task or part takes seconds to begin.
    """

    reads_uris: bool = False
    has_uri_client: bool = False
    has_variants: bool = False
    has_session: bool = False
    has_log: bool = False
    has_stages: bool = False
    has_limits: bool = False
    shuffles_text: bool = False
    keeps_state: bool = False
    begins_slowly: bool = False


class Engine(ABC):
    """Runs trials. Constructed without arguments, and cheap to construct.

    An engine has a name, workloads and capabilities, and the functions `missing` and `run`. The
    other functions do nothing unless it overrides them.
    """

    capabilities = Capabilities()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the engine on the command line."""

    @property
    @abstractmethod
    def workloads(self) -> frozenset[str]:
        """Names of the workloads that the engine can run."""

    @abstractmethod
    def missing(self) -> str | None:
        """Describe in a sentence what to install, or return None if the engine is usable here."""

    @abstractmethod
    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` and write its files into `output`.

        Arguments: `output` is an existing empty folder; `scratch` an existing folder for temporary
        files, which the caller empties. The parent of `scratch` belongs to the command and is
        removed at its end: files that outlive a run of an engine may be there. Errors: `InputError`
        for errors in the arguments or the data, `EngineError` when the engine itself failed.
        """

    def missing_for(self, trial: Trial) -> str | None:
        """Describe in a sentence what to install for the options of `trial`, or return None."""
        return None

    def prepare(self, report: Callable[[str], None]) -> None:
        """Build missing files, outside the time of a run.

        Arguments: `report` receives a sentence before a long step.
        """

    def with_progress(self, progress: Progress) -> Engine:
        """Return an engine that calls `progress` while it runs, or this one if it cannot."""
        return self

    def log_totals(self) -> Mapping[str, float]:
        """Return totals from the log of the last run: counts, `_seconds`, `_bytes`."""
        return {}

    def stages(self) -> Sequence[Stage]:
        """Return the stages of the run that `log_totals` read last, in the order they began."""
        return ()

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Return the use in the last run by processes that are not descendants of this one.

        None where there were none.
        """
        return None

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Return `repeats` samples of each limit, by a name with its unit: `tasks_per_s`.

        Arguments: `folder` is an empty one for temporary files. Errors: as `run`.
        """
        return {}

    def remote_facts(self, trial: Trial, uri: str, scratch: Path) -> tuple[int, int]:
        """Return bytes and number of files at `uri`, with `has_uri_client`.

        Errors: `InputError` without any file.
        """
        raise NotImplementedError

    def fetch(self, trial: Trial, uri: str, scratch: Path) -> Path:
        """Copy the file or folder at `uri` into `scratch`, with `has_uri_client`; return it."""
        raise NotImplementedError

    def close(self) -> None:
        """End the session, if there is one. A second call has no effect."""


def get_engine(name: str) -> Engine:
    """Return the engine called `name`, whether or not it is usable here (see `missing`)."""
    if name not in _CLASSES:
        raise InputError(f"engine {name!r} is not known; choose from {', '.join(ENGINE_NAMES)}")
    module, class_name = _CLASSES[name]
    return cast(Engine, getattr(import_module(module), class_name)())
