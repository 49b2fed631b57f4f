"""Maker of the archive of Spark's classes, by a session for that purpose."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cuesta import removal
from cuesta.engines.spark import archive
from cuesta.engines.spark.options import Options, Settings
from cuesta.engines.spark.session import Places, start
from cuesta.errors import EngineError
from cuesta.private import is_trusted

ARCHIVES_MAX = 3
_NAME = re.compile(r"[0-9a-f]{16}(?:-\d+)?\.(?:aot|jsa)")
"""Names of archives. `ARCHIVES_MAX` of them, 150 MB each, remain in the cache."""
WRITE_SECONDS = 240.0
"""Time for a JVM to write an archive when it ends."""
HEAP_BYTES = 1 << 30


def make(report: Callable[[str], None]) -> Path | None:
    """Make the archive if there is none, in about half a minute; None if it is not possible.

    Guarantee: it appears when it is complete. Errors: `EngineError` when Spark does not start, or
    Java writes no archive.
    """
    wanted = archive.wanted_here()
    if wanted is None or archive.existing(wanted):
        return archive.existing(wanted)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if not is_trusted(wanted.parent):
        return None  # An archive there would not be trusted.
    report("an archive of Spark's classes, half a minute, this once")
    partial = wanted.with_name(f"{os.getpid()}.partial{wanted.suffix}")
    try:
        _train(partial)
        if not partial.is_file():
            raise EngineError(
                f"engine spark: Java wrote no archive of Spark's classes: {partial}; see whether "
                "`java -version` answers and the disk has room"
            )
        with partial.open("rb") as file:
            os.fsync(file.fileno())
            size_bytes = os.fstat(file.fileno()).st_size
        made = wanted.with_name(f"{wanted.stem}-{size_bytes}{wanted.suffix}")
        removal.put(partial, made)
    finally:
        partial.unlink(missing_ok=True)
    removal.remove_oldest(made.parent, _NAME, ARCHIVES_MAX)
    return made


def _train(partial: Path) -> None:
    """Run a session with the steps of any run: a round of tasks, and one with an exchange."""
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
    session = start(settings, Places(folder=folder, logs=folder.parent), archive.writing(partial))
    try:
        session.rehearse()
    finally:
        session.stop(WRITE_SECONDS)
