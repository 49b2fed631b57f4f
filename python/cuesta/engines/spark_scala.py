"""The engine whose workloads are in Scala and run in the JVM alone.

For comparison, and for sites whose executors have no Python with our wheel. The jar is built from
`jvm/spark-jobs`; PySpark only provides Spark and starts it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.engines.dataflow import plan
from cuesta.engines.spark import scala_jar, scala_options
from cuesta.engines.spark.engine import SparkEngine
from cuesta.engines.spark.options import Settings, options_of, settings_of
from cuesta.errors import InputError
from cuesta.native import native_module
from cuesta.plugins import remedy
from cuesta.trial import Outcome, Trial, is_remote
from cuesta.workloads import get_workload

if TYPE_CHECKING:
    from cuesta.engines.spark.session import Session

_JOBS = frozenset({"scan", "join", "degrees", "communities", "dataflow", "sort", "kmeans"})
"""Workloads of `Jobs.scala`."""
_SUFFIXES = {"gzip": (".gz",), "bgzip": (".gz",), "bzip2": (".bz2",), "xz": (), "zstd": ()}
"""Suffixes by which Hadoop decompresses a format; its codec of Zstandard needs a native library."""


@dataclass(frozen=True)
class SparkScalaEngine(SparkEngine):
    """Runs workloads on Spark without Python: in this machine, or on the cluster of `--master`."""

    name: str = "spark-scala"
    capabilities = replace(SparkEngine.capabilities, reads_uris=False, has_uri_client=True)

    @property
    def workloads(self) -> frozenset[str]:
        """Workloads with a job in Scala."""
        return _JOBS

    def missing(self) -> str | None:
        """Describe what to install for Spark and its Java, or return None."""
        if find_spec("pyspark") is None:
            return f"engine spark-scala is not installed; {remedy('spark')}"
        return scala_jar.missing() or super().missing()

    def prepare(self, report: Callable[[str], None]) -> None:
        """Compile the workloads where a checkout has changed. Errors: `EngineError`."""
        scala_jar.compile_changed(report)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`. Errors: as `SparkEngine`."""
        options = options_of(trial, scala=True)
        if options.task_bytes is not None:
            raise InputError("--engine-option task-bytes is for engine spark; give partitions=N")
        if trial.workload == "dataflow":
            plan(trial.parameters, trial.seed, ())
        job_options = scala_options.request_options(trial)
        for path in trial.inputs:
            _check_compression(path)
        session, phases = self._session(trial, scratch)
        request = {
            "workload": trial.workload,
            "inputs": [path if "://" in path else f"file://{path}" for path in _absolute(trial)],
            "parameters": dict(trial.parameters),
            "seed": trial.seed,
            "output": str(output.absolute()),
            "partitions": options.partitions,
            "options": job_options,
        }
        response = self._guarded(session, lambda: _run(session, request))
        workload = get_workload(trial.workload)
        return Outcome(
            phases=(*phases, *map(workload.phase, response["phases"])),
            counts=response["counts"],
            versions=session.versions | {"scala": response["scala"]},
        )

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Measure empty tasks in the JVM, and the transport of shuffles. Errors: as `run`."""
        session = self._session_for_limits(threads, folder)
        jvm: Any = session.spark.sparkContext._jvm
        spark: Any = session.spark._jsparkSession
        samples: dict[str, list[float]] = json.loads(
            self._guarded(session, lambda: jvm.cuesta.spark.Limits.measure(spark, repeats))
        )
        return samples

    def remote_facts(self, trial: Trial, uri: str, scratch: Path) -> tuple[int, int]:
        """Return bytes and files at a URI that only Spark can read. Errors: as `run`."""
        from cuesta.engines.spark import hadoop

        session = self._for_files(trial, scratch)
        files = self._guarded(session, lambda: hadoop.files_of(session, uri))
        return sum(file.size_bytes for file in files), len(files)

    def fetch(self, trial: Trial, uri: str, scratch: Path) -> Path:
        """Copy files at a URI into `scratch`, not through the reader that runs use."""
        from cuesta.engines.spark import hadoop

        session = self._for_files(trial, scratch)
        return self._guarded(session, lambda: hadoop.fetch(session, uri, scratch))

    def _for_files(self, trial: Trial, scratch: Path) -> Session:
        return self._session(trial, scratch)[0]

    def _settings(self, trial: Trial) -> Settings:
        return settings_of(trial, str(scala_jar.JAR))


def _absolute(trial: Trial) -> list[str]:
    return [path if "://" in path else str(Path(path).absolute()) for path in trial.inputs]


def _check_compression(path: str) -> None:
    """Raise `InputError` for a local file that Hadoop would not decompress by its name."""
    if is_remote(path) or not Path(path).is_file():
        return
    packing = native_module().compression(path)
    if packing is not None and Path(path).suffix not in _SUFFIXES[packing]:
        known = " or ".join(_SUFFIXES[packing]) or "no name"
        raise InputError(
            f"spark-scala: {path} is compressed by {packing}, which this engine knows by {known}; "
            "rename or unpack the file, or use engine spark"
        )


def _run(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    session.begin()
    jvm: Any = session.spark.sparkContext._jvm
    spark: Any = session.spark._jsparkSession
    response: dict[str, Any] = json.loads(jvm.cuesta.spark.Jobs.run(spark, json.dumps(request)))
    session.cached = response["cached"]
    return response
