"""Classes of Spark's master and workers, loaded once and mapped from then on (AppCDS).

Half of the time until they are ready is spent on loading classes. A JVM that exits normally can
write the classes it has loaded to a file, which JVMs of the same version and class path map.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from cuesta import removal
from cuesta.errors import EngineMissing
from cuesta.machine import cache_folder
from cuesta.plugins import remedy
from cuesta.private import is_trusted


def archive_path(java_version: str) -> Path:
    """Return the path of the archive for this installation of Spark and a version of Java."""
    jars = jars_folder()
    text = f"{jars} {jars.stat().st_mtime_ns} {java_version}"
    name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return cache_folder() / "classes" / f"spark-{name}.jsa"


def reading(java_version: str) -> list[str]:
    """Return options of a JVM that maps the archive, if one exists that others cannot change."""
    place = archive_path(java_version)
    return [f"-XX:SharedArchiveFile={place}"] if is_trusted(place) else []


def writing(java_version: str, made: Path) -> list[str]:
    """Return options of a JVM that maps the archive, or else writes it to `made` at its end."""
    return reading(java_version) or [f"-XX:ArchiveClassesAtExit={made}"]


def keep(java_version: str, made: Path) -> None:
    """Save the archive that a JVM has written at its normal exit; a failure does no harm.

    Arguments: `made` is in the settings' folder of a cluster.
    """
    place = archive_path(java_version)
    if not made.exists() or place.exists():
        return
    # Clusters of other machines may have the same home, and folders of the same name.
    owner = f"{made.parent.parent.name}.{os.uname().nodename}.{os.getpid()}"
    temporary = place.with_name(f".{place.name}.{owner}")
    with contextlib.suppress(OSError):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, temporary)
            made.unlink()
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            removal.put(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)


def jars_folder() -> Path:
    """Return the folder of PySpark's jars. Errors: `EngineMissing`."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EngineMissing(f"PySpark is not installed; {remedy('spark')}")
    return Path(spec.origin).parent / "jars"
