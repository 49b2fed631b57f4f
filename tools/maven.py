"""Jars from Maven Central with all that they need, resolved once into `build/jars`.

    python tools/maven.py pin

Jars whose SHA-256 is not in `maven-checksums.txt` are refused. `pin` adds those of the folders that
are in `build/jars` to the file: delete a folder, change its artifacts, run what uses them with
`CUESTA_UNPINNED_JARS=1`, read what has changed, then `pin`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "jars"
CHECKSUMS = Path(__file__).with_name("maven-checksums.txt")
"""Lines as `sha256sum` writes them: a hash, two spaces, the name of a jar."""
UNPINNED = "CUESTA_UNPINNED_JARS"
"""Variable of the environment that admits jars without a checksum."""

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
_EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
_CLASSIFIER = "\n      <classifier>{}</classifier>"


class MavenError(Exception):
    """Maven is missing, does not get an artifact or gets another one, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Pin the jars that are here; 2 for other words."""
    if list(arguments) != ["pin"]:
        print(__doc__, file=sys.stderr)
        return 2
    lines = set(CHECKSUMS.read_text("utf-8").splitlines()) if CHECKSUMS.exists() else set()
    lines |= {f"{digest(jar)}  {jar.name}" for jar in CACHE.glob("[!.]*/*.jar")}
    ordered = sorted(lines, key=lambda line: (line.split()[1], line))
    CHECKSUMS.write_text("".join(f"{line}\n" for line in ordered), "utf-8")
    print(f"{CHECKSUMS.name}: {len(lines)} jars")
    return 0


def is_installed() -> bool:
    """Whether Maven is installed."""
    return shutil.which("mvn") is not None


def jars(name: str, artifacts: Sequence[str], excluded: Sequence[str] = ()) -> Path:
    """Return a folder with the jars of `artifacts` and of their dependencies.

    Arguments: each is `GROUP:NAME:VERSION`, or `GROUP:NAME:VERSION:CLASSIFIER`; of `excluded`,
    which are dependencies that are not taken, `GROUP:NAME`.

    Guarantee: a folder that exists is complete, and each jar in it is one that is pinned; another
    list of artifacts has another folder.
    Errors: `MavenError`.
    """
    dependencies = "".join(_dependency(artifact, excluded) for artifact in artifacts)
    pom = _POM.format(name=name, dependencies=dependencies)
    # Folders of before jars were pinned had other names.
    folder = CACHE / f"{name}-{hashlib.sha256(f'pinned {pom}'.encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    if not is_installed():
        raise MavenError(f"Maven is needed to get {artifacts[0]}: apt-get install maven")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=CACHE) as temporary:
        _copy(pom, Path(temporary))
        check(Path(temporary, "jars"))
        try:
            Path(temporary, "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # Another process has made it meanwhile.
                raise
    return folder


def check(folder: Path) -> None:
    """Hold the jars of a folder to their checksums. Errors: `MavenError`."""
    text = CHECKSUMS.read_text("utf-8") if CHECKSUMS.exists() else ""
    pairs = [line.split() for line in text.splitlines()]
    pinned = {(name, checksum) for checksum, name in pairs}
    names = {name for name, _ in pinned}
    for jar in sorted(folder.iterdir()):
        if (jar.name, digest(jar)) in pinned:
            continue
        if jar.name in names:
            raise MavenError(
                f"{jar.name} from Maven Central is not the one in {CHECKSUMS.name}: its SHA-256 "
                f"is {digest(jar)}; find out who replaced it"
            )
        if not os.environ.get(UNPINNED):
            raise MavenError(
                f"{jar.name} is not in {CHECKSUMS.name}; to take it, see tools/maven.py"
            )


def digest(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _dependency(artifact: str, excluded: Sequence[str]) -> str:
    group, name, version, *classifier = artifact.split(":")
    words = "".join(map(_CLASSIFIER.format, classifier))
    if excluded:
        listed = "".join(_EXCLUSION.format(*other.split(":")) for other in excluded)
        words += f"<exclusions>{listed}</exclusions>"
    return _DEPENDENCY.format(group, name, version, words)


def _copy(pom: str, folder: Path) -> None:
    (folder / "pom.xml").write_text(pom)
    words = [
        "-q",
        "-B",
        "--strict-checksums",
        "dependency:copy-dependencies",
        f"-DoutputDirectory={folder}/jars",
    ]
    done = subprocess.run(
        ["mvn", *words], cwd=folder, env=os.environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        # Colours may be switched off in front of the first one.
        lines = [line.partition("[ERROR] ")[2] for line in done.stdout.splitlines()]
        raise MavenError(f"Maven: {next(filter(None, lines), 'it failed')[:300]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
