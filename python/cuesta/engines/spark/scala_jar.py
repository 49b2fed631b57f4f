"""The jar of the Scala workloads: in the wheel; in a checkout compiled at its first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from cuesta import jarfile
from cuesta.errors import EngineError
from cuesta.jarfile import origin_of, write_origin

__all__ = ["JAR", "compile_changed", "missing", "origin", "origin_of", "write_origin"]

JAR = jarfile.FOLDER / "cuesta-spark-jobs.jar"

_CHECKOUT = Path(__file__).parents[4]
_COMPILER = _CHECKOUT / "tools" / "scala_jobs.py"
_SOURCES = _CHECKOUT / "jvm" / "spark-jobs" / "src" / "main"


def missing() -> str | None:
    """Return the remedy for a missing jar that cannot be compiled here, or None."""
    if JAR.is_file() or _COMPILER.is_file():
        return None
    return f"engine spark-scala has no jar: {JAR} is gone; install cuesta's wheel again"


def compile_changed(report: Callable[[str], None]) -> None:
    """Compile the sources in a checkout if the jar is of other sources; half a minute.

    Guarantee: the jar appears when it is complete. Errors: `EngineError`.
    """
    if not _COMPILER.is_file() or origin_of(JAR) == origin(_SOURCES):
        return
    report("compiling the Scala workloads, half a minute, this once")
    failed, last = jarfile.compiled(_COMPILER, JAR)
    if failed:
        raise EngineError(f"the Scala workloads do not compile: {last}; mend {_SOURCES}")


def origin(sources: Path) -> str:
    """Return the origin of a jar compiled now: a hash of PySpark's version, compiler, sources."""
    return jarfile.origin(version("pyspark"), (_COMPILER, *sorted(sources.rglob("*.scala"))))
