"""Jars that a checkout compiles, each with a record of the sources it was compiled from.

The set-up and each run thus detect a jar of other sources, compiler options or libraries.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from .errors import EngineMissing

FOLDER = Path(__file__).parent / "jars"
"""The folder of the jars, in the wheel as in a checkout."""

_TOOL = Path("tools", "hadoop_jar.py")
_TOOLS = (folder / _TOOL for folder in Path(__file__).parents[2:4])
_JAVA_COMPILER = next(filter(Path.is_file, _TOOLS), _TOOL)
"""The compiler of a checkout, above the package."""
_PRODUCT = (__package__ or "").replace("_", "-")
_ORIGIN = "META-INF/cuesta-origin"
"""Name of the jar's entry that has its origin."""


def origin(library: str, files: Iterable[Path]) -> str:
    """Return a hash of the version of a library and of files, in their order."""
    parts = (library.encode(), *(path.read_bytes() for path in files))
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


def origin_of(jar: Path) -> str | None:
    """Return the `origin` that was written into a jar; None without one, or without a jar."""
    try:
        with ZipFile(jar) as archive:
            return archive.read(_ORIGIN).decode()
    except (OSError, BadZipFile, KeyError):
        return None


def write_origin(jar: Path, text: str) -> None:
    """Add an `origin` to a jar."""
    with ZipFile(jar, "a") as archive:
        archive.writestr(ZipInfo(_ORIGIN), text)


def missing(jar: Path) -> str | None:
    """Return the remedy for a Java jar that is missing and cannot be made here, or None."""
    if jar.is_file() or _JAVA_COMPILER.is_file():
        return None
    return f"a jar for Hadoop is gone: {jar}; install {_PRODUCT}'s wheel again"


def current(jar: Path) -> Path:
    """Return a Java jar; in a checkout, one that is compiled from its current sources.

    Errors: `EngineMissing` where there is none, and it cannot be compiled.
    """
    lacking = missing(jar)
    if lacking:
        raise EngineMissing(lacking)
    if _JAVA_COMPILER.is_file():
        failed, last = compiled(_JAVA_COMPILER, jar)
        if failed:
            raise EngineMissing(f"the jar for Hadoop does not compile: {last}; try another JDK")
    return jar


def compiled(tool: Path, jar: Path) -> tuple[bool, str]:
    """Have a tool of a checkout make a jar; return whether that failed, and its last line of
    output.
    """
    command = [sys.executable, str(tool), "build", str(jar)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return done.returncode != 0, "".join(last)
