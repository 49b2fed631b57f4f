"""Jars from Maven Central with all that they need, resolved once into `build/jars`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "jars"

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cuesta</groupId><artifactId>{name}</artifactId><version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}
    </dependency>"""
_CLASSIFIER = "\n      <classifier>{}</classifier>"


class MavenError(Exception):
    """Maven is missing or does not get an artifact, in one line."""


def is_installed() -> bool:
    """Whether there is a Maven to ask."""
    return shutil.which("mvn") is not None


def jars(name: str, artifacts: Sequence[str]) -> Path:
    """A folder with the jars of `artifacts` and of what they depend on.

    Arguments: each is `GROUP:NAME:VERSION`, or `GROUP:NAME:VERSION:CLASSIFIER`.

    Guarantee: a folder that exists is complete; another list of artifacts has another folder.
    Errors: `MavenError`.
    """
    dependencies = "".join(map(_dependency, artifacts))
    pom = _POM.format(name=name, dependencies=dependencies)
    folder = CACHE / f"{name}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    if not is_installed():
        raise MavenError(f"Maven is needed to get {artifacts[0]}: apt-get install maven")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=CACHE) as temporary:
        _copy(pom, Path(temporary))
        try:
            Path(temporary, "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # Somebody else has made it meanwhile.
                raise
    return folder


def _dependency(artifact: str) -> str:
    group, name, version, *classifier = artifact.split(":")
    words = "".join(map(_CLASSIFIER.format, classifier))
    return _DEPENDENCY.format(group, name, version, words)


def _copy(pom: str, folder: Path) -> None:
    (folder / "pom.xml").write_text(pom)
    words = ["-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}/jars"]
    done = subprocess.run(
        ["mvn", *words], cwd=folder, env=os.environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        # Colours may be switched off in front of the first one.
        lines = [line.partition("[ERROR] ")[2] for line in done.stdout.splitlines()]
        raise MavenError(f"Maven: {next(filter(None, lines), 'it failed')[:300]}")
