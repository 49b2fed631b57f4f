"""An archive of Spark's classes, loaded and verified, that a JVM maps instead of reading jars.

A session with it starts in two thirds of the time. It is made once a machine, by a session that
does nothing else, and lies in the user's cache under a name that says for which Java and which jars
it is. Java itself looks again whether it fits, and goes on without one that does not.
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
"""From this Java on the archive also has what was compiled and linked (JEP 483, 514 and 515)."""
KEPT_MAX = 3
_NAME = re.compile(r"[0-9a-f]{16}(?:-\d+)?\.(?:aot|jsa)")
"""Archives that stay in the cache, of other Javas and Sparks, 150 MB each."""
WRITE_SECONDS = 240.0
"""How long a JVM may take to write one when it ends."""
HEAP_BYTES = 1 << 30


def place(words: Words, java: Java) -> Path | None:
    """Where the archive for them would be, but for its size; None where Java can have none."""
    ahead = java.major >= AHEAD_OF_TIME_MIN
    if not ahead and not (java.home / "lib" / "server" / "classes.jsa").is_file():
        return None
    name = f"{launch.stamp(java, words.jars)}.{'aot' if ahead else 'jsa'}"
    return cache_folder() / "spark" / name


def whole(wanted: Path | None) -> Path | None:
    """The archive for that place, if there is one with all of its bytes that others cannot change.

    It is code. Its size is in its name: of all that can be wrong with an archive Java sees but the
    missing end.
    """
    if wanted is None:
        return None
    for archive in wanted.parent.glob(f"{wanted.stem}-*{wanted.suffix}"):
        size_bytes = archive.stat().st_size
        if archive.stem.partition("-")[2] == str(size_bytes) and is_trusted(archive):
            return archive
    return None


def reading(wanted: Path | None) -> tuple[str, ...]:
    """Options of a JVM that uses the archive for that place, if there is one."""
    archive = whole(wanted)
    if archive is None:
        return ()
    return (f"-XX:{'AOTCache' if archive.suffix == '.aot' else 'SharedArchiveFile'}={archive}",)


def writing(archive: Path) -> tuple[str, ...]:
    """Options of a JVM that writes an archive when it ends."""
    ahead = archive.suffix == ".aot"
    return (f"-XX:{'AOTCacheOutput' if ahead else 'ArchiveClassesAtExit'}={archive}",)


def of_executors() -> dict[str, str]:
    """Settings with which executors use the archive of this machine; none where there is none.

    It must be on their machines by the same path; else they start without one.
    """
    words, wanted = _known()
    options = reading(wanted)
    if words is None or not options:
        return {}
    # A worker puts a folder of settings before Spark's jars, and these before that.
    return {
        "spark.executor.extraClassPath": words.jars_path,
        "spark.executor.extraJavaOptions": " ".join(options),
    }


def found() -> Path | None:
    """The archive that a session would use here; None where there is none."""
    return whole(_known()[1])


def is_possible() -> bool:
    """Whether there can be one here."""
    return _known()[1] is not None


def make(say: Callable[[str], None]) -> Path | None:
    """Make the archive where there is none yet, in about half a minute; None where none can be.

    Guarantee: it appears when it is whole. Errors: `EngineError` when Spark does not start, or Java
    writes none.
    """
    _, wanted = _known()
    if wanted is None or whole(wanted):
        return whole(wanted)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if not is_trusted(wanted.parent):
        return None  # Nothing would use it there.
    say("an archive of Spark's classes, half a minute, this once")
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
    _forget_others(archive)
    return archive


def _known() -> tuple[Words | None, Path | None]:
    """The words of this machine, and where the archive for them would be."""
    java = find_java(os.environ)
    words = launch.find(java, os.environ) if java else None
    return words, place(words, java) if java and words else None


def _train(partial: Path) -> None:
    """A session that does what every run does: a round of tasks, and one with an exchange."""
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


def _forget_others(archive: Path) -> None:
    """Remove the oldest archives."""
    removal.remove_oldest(archive.parent, _NAME, KEPT_MAX)
