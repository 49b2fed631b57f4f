"""Jars that a checkout compiles, and that say in themselves what they were compiled from.

So one of other sources, of other options of the compiler or of other libraries is known, by the
set-up as by a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

_ORIGIN = "META-INF/cuesta-origin"
"""The entry of a jar that has its origin."""


def origin(library: str, files: Iterable[Path]) -> str:
    """One hash of the version of a library and of files, in their order."""
    parts = (library.encode(), *(path.read_bytes() for path in files))
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
