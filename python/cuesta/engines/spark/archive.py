"""An archive of Spark's classes, loaded and verified, that a JVM maps instead of reading jars.

A session with it starts in two thirds of the time. It is made once on a machine, by a session for
that purpose, and is in the user's cache under a name that identifies the Java and the jars. Java
itself checks again whether it matches, and starts without one that does not.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cuesta import removal
from cuesta.engines.spark import launch
from cuesta.engines.spark.java import Java, find_java
from cuesta.engines.spark.launch import Words
from cuesta.errors import EngineError
from cuesta.machine import cache_folder
from cuesta.private import is_trusted

AHEAD_OF_TIME_MIN = 25
"""From this Java on the archive also has compiled and linked code (JEP 483, 514 and 515)."""
ARCHIVES_MAX = 3
_NAME = re.compile(r"[0-9a-f]{16}(?:-\d+)?\.(?:aot|jsa)")
"""Names of archives. `ARCHIVES_MAX` of them, 150 MB each, remain in the cache."""
WRITE_SECONDS = 240.0
"""Time for a JVM to write an archive when it ends."""
HEAP_BYTES = 1 << 30


def place(words: Words, java: Java) -> Path | None:
    """Return the path of the archive, without its size; None if this Java supports none."""
    ahead = java.major >= AHEAD_OF_TIME_MIN
    if not ahead and not (java.home / "lib" / "server" / "classes.jsa").is_file():
        return None
    name = f"{launch.stamp(java, words.jars)}.{'aot' if ahead else 'jsa'}"
    return cache_folder() / "spark" / name


def existing(wanted: Path | None) -> Path | None:
    """Return the complete archive for a path that other users cannot change, if there is one.

    An archive is code, hence the check. Its size is in its name: Java detects all damage to an
    archive but a missing end.
    """
    if wanted is None:
        return None
    for archive in wanted.parent.glob(f"{wanted.stem}-*{wanted.suffix}"):
        size_bytes = archive.stat().st_size
        if archive.stem.partition("-")[2] == str(size_bytes) and is_trusted(archive):
            return archive
    return None


def reading(wanted: Path | None) -> tuple[str, ...]:
    """Return options of a JVM that uses the archive for a path, if there is one."""
    archive = existing(wanted)
    if archive is None:
        return ()
    return (f"-XX:{'AOTCache' if archive.suffix == '.aot' else 'SharedArchiveFile'}={archive}",)


def writing(archive: Path) -> tuple[str, ...]:
    """Return options of a JVM that writes an archive when it ends."""
    ahead = archive.suffix == ".aot"
    return (f"-XX:{'AOTCacheOutput' if ahead else 'ArchiveClassesAtExit'}={archive}",)


def of_executors() -> dict[str, str]:
    """Return settings by which executors use the archive of Spark's classes, if there is one.

    The archive must have the same path on their machines; else they start without one.
    """
    words, wanted = _known()
    options = reading(wanted)
    if words is None or not options:
        return {}
    # A worker puts a folder of settings before Spark's jars, and this class path before that.
    return {
        "spark.executor.extraClassPath": words.jars_path,
        "spark.executor.extraJavaOptions": " ".join(options),
    }


def current() -> Path | None:
    """Return the archive that a session would use here; None where there is none."""
    return existing(_known()[1])


def is_possible() -> bool:
    """Whether this machine supports an archive."""
    return _known()[1] is not None


def make(report: Callable[[str], None]) -> Path | None:
    """Make the archive if there is none, in about half a minute; None if it is not possible.

    Guarantee: it appears when it is complete. Errors: `EngineError` when Spark does not start, or
    Java writes no archive.
    """
    _, wanted = _known()
    if wanted is None or existing(wanted):
        return existing(wanted)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if not is_trusted(wanted.parent):
        return None  # An archive there would not be trusted.
    report("an archive of Spark's classes, half a minute, this once")
    partial = wanted.with_name(f"{os.getpid()}.partial{wanted.suffix}")
    try:
        _train(partial)
        if not partial.is_file():
            raise EngineError(f"engine spark: Java wrote no archive of Spark's classes: {partial}")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
            size_bytes = os.fstat(file.fileno()).st_size
        archive = wanted.with_name(f"{wanted.stem}-{size_bytes}{wanted.suffix}")
        removal.put(partial, archive)
    finally:
        partial.unlink(missing_ok=True)
    _remove_oldest(archive)
    return archive


def _known() -> tuple[Words | None, Path | None]:
    """Return the launch words of this machine, and the path of the archive for them."""
    java = find_java(os.environ)
    words = launch.find(java, os.environ) if java else None
    return words, place(words, java) if java and words else None


def _train(partial: Path) -> None:
    """Run a session with the steps of any run: a round of tasks, and one with an exchange."""
    from cuesta.engines.spark.options import Options, Settings
    from cuesta.engines.spark.session import Places, start

    options = Options(
        master="local[2]",
        python=sys.executable,
        task_bytes=None,
        partitions=None,
        kernels="",
        spark=(),
    )
    settings = Settings(options=options, heap_bytes=HEAP_BYTES, overhead_bytes=0)
    folder = Path(tempfile.mkdtemp(prefix="cuesta-spark-"))
    session = start(settings, Places(folder=folder, logs=folder.parent), writing(partial))
    try:
        session.rehearse()
    finally:
        session.stop(WRITE_SECONDS)


def _remove_oldest(archive: Path) -> None:
    """Remove the oldest archives."""
    removal.remove_oldest(archive.parent, _NAME, ARCHIVES_MAX)
