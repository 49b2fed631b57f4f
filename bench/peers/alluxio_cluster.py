"""Alluxio: the cluster of its own tests in one JVM, with a client in Java that reads there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ARTIFACT = "org.alluxio:alluxio-minicluster:2.9.4"
CLIENT = "org.alluxio:alluxio-shaded-client:2.9.3"
"""There is none of 2.9.4, and that of 2.9.6 names a parent that is not there."""
PROGRAM = Path(__file__).with_name("AlluxioCluster.java")
HEAP_BYTES = 2 << 30
"""Heap of the JVM, in addition to the arrays that are read into."""
JAVA_MIN = 17


def missing() -> str | None:
    """Why it cannot run, or None."""
    if shutil.which("java") is None:
        return f"Alluxio needs Java {JAVA_MIN}"
    return None if shutil.which("mvn") else "Alluxio comes by Maven: apt-get install maven"


def missing_jars() -> str | None:
    """Why its jars cannot be had, or None; gets them where they are not here."""
    sys.path.append(str(ROOT / "tools"))
    import maven

    try:
        client_jar()
        maven.jars("alluxio", [ARTIFACT])
    except maven.MavenError as error:
        return str(error)
    return None


def client_jar() -> Path:
    """The client for Hadoop's programs. Errors: `maven.MavenError`."""
    sys.path.append(str(ROOT / "tools"))
    import maven

    return next(maven.jars("alluxio-client", [CLIENT]).glob("alluxio-shaded-client-*.jar"))


class Cluster:
    """A cluster over a folder; the memory of its worker is in `place`."""

    def __init__(self, file: Path, memory_bytes: int, place: Path) -> None:
        sys.path.append(str(ROOT / "tools"))
        import maven

        place.mkdir()
        self.place = place
        heap = HEAP_BYTES + file.stat().st_size
        jars = maven.jars("alluxio", [ARTIFACT])
        words = ["java", f"-Xmx{heap}", f"-Djava.io.tmpdir={place}", "-cp", f"{jars}/*"]
        words += [str(PROGRAM), str(file.parent), file.name, str(memory_bytes)]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=place,
            env=os.environ | {"MALLOC_ARENA_MAX": "2"},
        )

    def ask(self, line: str) -> str:
        """The answer to a line of `AlluxioCluster.java`. Errors: `RuntimeError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        # Its libraries write to standard output as well.
        for line_read in self._process.stdout:
            if line_read.startswith("> "):
                return line_read[2:].strip()
        raise RuntimeError(f"Alluxio ended when it was asked to {line}")

    def close(self) -> None:
        """End it."""
        try:
            self._process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        shutil.rmtree(self.place, ignore_errors=True)
