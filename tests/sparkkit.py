"""A Spark for all tests of the engine, and runs on it compared with the native engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cuesta.engines import get_engine
from cuesta.engines.spark import SparkEngine
from cuesta.engines.spark.session import Session
from cuesta.engines.spark_scala import SparkScalaEngine
from cuesta.trial import Outcome, Trial
from cuesta.workloads import get_workload

MEMORY_BYTES = 2 << 30

_NUMBERS = itertools.count()


@cache
def engine() -> SparkEngine:
    """Return the engine whose session all tests share."""
    return SparkEngine()


@cache
def scala_engine() -> SparkScalaEngine:
    """Return the engine without Python.

    A process has a single JVM, so the session of engine `spark` must be closed first.
    """
    return SparkScalaEngine()


def scala_session() -> Session:
    """Return the session of the engine without Python; it must run."""
    session = scala_engine()._held.session
    assert session
    return session


@pytest.fixture(scope="module")
def scala() -> Iterator[SparkScalaEngine]:
    """Engine without Python, closed after the module; skips where it cannot run."""
    reason = scala_engine().missing()
    if reason:
        pytest.skip(reason)
    engine().close()
    yield scala_engine()
    scala_engine().close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """Spark engine, closed after the last test; skips where Spark cannot run."""
    reason = engine().missing()
    if reason:
        pytest.skip(reason)
    yield engine()
    engine().close()


class Question(NamedTuple):
    """A workload with its inputs and parameters."""

    workload: str
    inputs: list[str]
    parameters: dict[str, Any]


def trial(workload: str, inputs: list[str], parameters: dict[str, Any], **options: str) -> Trial:
    """Return a trial on two threads; `options` are those of the engine."""
    return Trial(
        workload=workload,
        engine="spark",
        inputs=tuple(inputs),
        parameters=get_workload(workload).check(parameters),
        threads=2,
        memory_bytes=MEMORY_BYTES,
        engine_options={name.replace("_", "-"): value for name, value in options.items()},
    )


def run(job: Trial, folder: Path, name: str = "spark") -> tuple[Outcome, dict[str, bytes]]:
    """Run on an engine; return the outcome and the answer files."""
    place = folder / f"{name}-{next(_NUMBERS)}"
    output, scratch = place / "answer", place / "scratch"
    output.mkdir(parents=True)
    scratch.mkdir()
    shared = {"spark": engine, "spark-scala": scala_engine}
    engine_used = shared[name]() if name in shared else get_engine(name)
    outcome = engine_used.run(job, output, scratch)
    assert name == "native" or not any(scratch.iterdir())
    files = [path for path in output.rglob("*") if path.is_file()]
    return outcome, {str(path.relative_to(output)): path.read_bytes() for path in files}


def same_as_native(
    job: Trial, folder: Path, inputs: list[str] | None = None, name: str = "spark"
) -> Outcome:
    """Run on both engines, native with `inputs` if passed: files and counts must be equal."""
    native = trial(job.workload, inputs or list(job.inputs), dict(job.parameters))
    expected, expected_files = run(native, folder, "native")
    outcome, files = run(job, folder, name)
    assert files == expected_files
    # Spark's reader skips no file because of its folder's name, and sorts no runs.
    native_only = {"files_skipped", "rows_read", "runs"} if inputs else set()
    for key in expected.counts.keys() - native_only:
        assert outcome.counts[key] == expected.counts[key], key
    return outcome
