"""An archive of Spark's classes, loaded and verified, that a JVM maps instead of reading jars.

A session with it starts in two thirds of the time. It is made once on a machine, by a session for
that purpose (`training`), and is in the user's cache under a name that identifies the Java and the
jars. Java itself checks again whether it matches, and starts without one that does not.
"""

from __future__ import annotations

import os
from pathlib import Path

from cuesta.engines.spark import launch
from cuesta.engines.spark.java import Java, find_java
from cuesta.engines.spark.launch import Words
from cuesta.machine import cache_folder
from cuesta.private import is_trusted

AHEAD_OF_TIME_MIN = 25
"""From this Java on the archive also has compiled and linked code (JEP 483, 514 and 515)."""


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
    return existing(wanted_here())


def is_possible() -> bool:
    """Whether this machine supports an archive."""
    return wanted_here() is not None


def wanted_here() -> Path | None:
    """Return the path of the archive for this machine's Java and jars, as `place` does."""
    return _known()[1]


def _known() -> tuple[Words | None, Path | None]:
    """Return the launch words of this machine, and the path of the archive for them."""
    java = find_java(os.environ)
    words = launch.find(java, os.environ) if java else None
    return words, place(words, java) if java and words else None
