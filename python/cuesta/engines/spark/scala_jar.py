"""The jar of the Scala workloads: in the wheel; in a checkout compiled when it is first used.

A jar of a checkout says in itself what it was compiled from, so one of other sources, of other
options of the compiler or of another PySpark is known, by the set-up as by a run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from cuesta.errors import EngineError

JAR = Path(__file__).parents[2] / "jars" / "cuesta-spark-jobs.jar"

_CHECKOUT = Path(__file__).parents[4]
_COMPILER = _CHECKOUT / "tools" / "scala_jobs.py"
_SOURCES = _CHECKOUT / "jvm" / "spark-jobs" / "src" / "main"
_ORIGIN = "META-INF/cuesta-origin"
"""The entry of a jar that has its `origin`."""


def missing() -> str | None:
    """What to do about a jar that is not there and that nothing here can make."""
    if JAR.is_file() or _COMPILER.is_file():
        return None
    return f"engine spark-scala has no jar: {JAR} is gone; install cuesta's wheel again"


def compile_changed(say: Callable[[str], None]) -> None:
    """In a checkout, compile the sources where the jar is not of them; half a minute.

    Guarantee: the jar appears when it is whole. Errors: `EngineError`.
    """
    if not _COMPILER.is_file() or origin_of(JAR) == origin(_SOURCES):
        return
    say("compiling the Scala workloads, half a minute, this once")
    command = [sys.executable, str(_COMPILER), "build", str(JAR)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise EngineError(f"the Scala workloads do not compile: {''.join(last)}")


def origin(sources: Path) -> str:
    """What a jar compiled now comes from: one hash of PySpark's version, compiler and sources."""
    files = (_COMPILER, *sorted(sources.rglob("*.scala")))
    parts = (version("pyspark").encode(), *(path.read_bytes() for path in files))
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


def origin_of(jar: Path) -> str | None:
    """The `origin` that was written into a jar; none without one, or without a jar."""
    try:
        with ZipFile(jar) as archive:
            return archive.read(_ORIGIN).decode()
    except (OSError, BadZipFile, KeyError):
        return None


def write_origin(jar: Path, text: str) -> None:
    """Add its `origin` to a jar."""
    with ZipFile(jar, "a") as archive:
        archive.writestr(ZipInfo(_ORIGIN), text)
