"""Compile a jar of Java for Hadoop, against the Hadoop that it will run with.

    python tools/hadoop_jar.py build JAR

The name of the jar says of what: `cuesta-hadoop-store.jar` is the store's file system, for Spark
too, and `cuesta-hadoop-rounds.jar` the jobs of the engine `hadoop`. PySpark brings Hadoop's client
along. The compiler is that of the JDK, else Eclipse's from Maven Central, which runs on any Java. A
jar that says that it comes from the same is left as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import maven
from spark_parts import ROOT, SparkMissing, jars, java_home, package

PROJECTS = ROOT / "jvm"
PREFIX = "cuesta-"
STORE = "hadoop-store"
JAVA_RELEASE = "17"
JAVA_RELEASES = {"hadoop-rounds": "8"}
"""Java releases of projects whose classes run on clusters of other sites."""
ECLIPSE = "org.eclipse.jdt:ecj:3.40.0"
STRICT = ("-Xlint:all,-options", "-Werror")
_ECLIPSE_MAIN = "org.eclipse.jdt.internal.compiler.batch.Main"


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says; 3 when something is missing."""
    try:
        match arguments:
            case ["build", target]:
                return build(Path(target))
    except (SparkMissing, maven.MavenError) as error:
        print(f"hadoop_jar: {error}", file=sys.stderr)
        return 3
    print(__doc__, file=sys.stderr)
    return 2


def build(target: Path) -> int:
    """Compile the sources into a jar, which appears when it is complete."""
    project = target.stem.removeprefix(PREFIX)
    main = PROJECTS / project / "src" / "main"
    sources = sorted(main.rglob("*.java"))
    if not sources:
        print(f"hadoop_jar: there is no project {project} in {PROJECTS}", file=sys.stderr)
        return 2
    with package():
        from cuesta import jarfile
    resources = sorted(path for path in (main / "resources").rglob("*") if path.is_file())
    jars()  # or say what is missing
    origin = jarfile.origin(version("pyspark"), (Path(__file__), *sources, *resources))
    if jarfile.origin_of(target) == origin:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hadoop-", dir=target.parent) as folder:
        classes, jar = Path(folder, "classes"), Path(folder, target.name)
        java = JAVA_RELEASES.get(project, JAVA_RELEASE)
        code = compile_into(classes, sources, libraries(), *STRICT, release=java)
        if code == 0:
            pack(jar, [(classes, classes.rglob("*.class")), (main / "resources", resources)])
            jarfile.write_origin(jar, origin)
            with ZipFile(jar, "a") as archive:
                # No other jar has this entry, so that two of these jars are noticed on a class
                # path.
                archive.writestr(ZipInfo(f"META-INF/{PREFIX}{project}"), origin)
            jar.replace(target)
        return code


def client() -> Path:
    """Hadoop's client. Errors: `SparkMissing`."""
    return next(jars().glob("hadoop-client-api-*.jar"))


def libraries() -> list[Path]:
    """Libraries that a jar may use: Hadoop's client, and its logging. Errors: `SparkMissing`."""
    return [client(), next(jars().glob("slf4j-api-*.jar"))]


def compile_into(
    target: Path,
    sources: Iterable[Path],
    classes: Iterable[Path],
    *options: str,
    release: str = JAVA_RELEASE,
) -> int:
    """Compile Java; the exit code. Errors: `SparkMissing`, `MavenError`."""
    path = os.pathsep.join(map(str, classes))
    words = ["-encoding", "UTF-8", "-cp", path, "-d", str(target)]
    command = [*compiler(options, release), *words, *map(str, sources)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def compiler(options: Sequence[str], release: str) -> list[str]:
    """A Java compiler; `options` are for the JDK's. Errors: `SparkMissing`, `MavenError`."""
    home = java_home()
    named = home / "bin" / "javac"
    javac = str(named) if named.is_file() else shutil.which("javac")
    if javac:
        return [javac, "--release", release, *options]
    folder = maven.jars("ecj", [ECLIPSE])
    java = [str(home / "bin" / "java"), "-cp", f"{folder}/*", _ECLIPSE_MAIN]
    return [*java, "-source", release, "-target", release, "-nowarn"]


def pack(jar: Path, parts: Iterable[tuple[Path, Iterable[Path]]]) -> None:
    """Put files into a jar, named from their folders; the same bytes for the same files."""
    with ZipFile(jar, "w", ZIP_DEFLATED) as archive:
        for folder, files in parts:
            for file in sorted(files):
                entry = ZipInfo(str(file.relative_to(folder)))
                archive.writestr(entry, file.read_bytes(), ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
