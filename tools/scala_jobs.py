"""Compile or test the Scala workloads for Spark, against the very jars that they will run with.

    python tools/scala_jobs.py build JAR
    python tools/scala_jobs.py test

The PySpark of this Python brings Spark's jars along, the Scala compiler among them, so neither a
JDK nor Maven is needed, and nothing can be compiled against another Spark, Scala or Hadoop than it
runs on. A jar that says that it comes from the same is left as it is. Only ScalaTest, for `test`,
comes from Maven Central.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import maven
from spark_parts import ROOT, SparkMissing, jars, java_home, package

SOURCES = ROOT / "jvm" / "spark-jobs" / "src"
SCALATEST = "org.scalatest:scalatest-funsuite_2.13:3.2.19"

JAVA_RELEASE = 17
OPTIONS = ("-deprecation", "-feature", "-unchecked", "-Xlint", "-Werror")


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says; 3 when something is missing."""
    try:
        match arguments:
            case ["build", target]:
                return build(Path(target))
            case ["test"]:
                return test()
    except (SparkMissing, maven.MavenError) as error:
        print(f"scala_jobs: {error}", file=sys.stderr)
        return 3
    print(__doc__, file=sys.stderr)
    return 2


def build(target: Path) -> int:
    """Compile the workloads into a jar, which appears when it is whole."""
    sources = SOURCES / "main"
    jars()  # or say what is missing
    with package():
        from cuesta.engines.spark import scala_jar
    origin = scala_jar.origin(sources)
    if scala_jar.origin_of(target) == origin:
        return 0
    print("compiling the Scala workloads, half a minute", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        code = compile_into(partial, sources.rglob("*.scala"))
        if code == 0:
            scala_jar.write_origin(partial, origin)
            partial.replace(target)
        return code
    finally:
        partial.unlink(missing_ok=True)


def test() -> int:
    """Compile the workloads and their suites, and run the suites."""
    scalatest = maven.jars("scalatest", [SCALATEST])
    with tempfile.TemporaryDirectory(prefix="cuesta-scala-") as classes:
        code = compile_into(Path(classes), SOURCES.rglob("*.scala"), scalatest)
        runner = ["org.scalatest.tools.Runner", "-R", classes, "-oW"]
        return code or run_java([Path(classes), jars() / "*", scalatest / "*"], runner)


def compile_into(target: Path, sources: Iterable[Path], *more: Path) -> int:
    """Compile with Spark's own compiler against Spark's jars and the folders `more` of others.

    Errors: `SparkMissing`.
    """
    files = [str(path) for path in sorted(sources)]
    compiler = ["scala.tools.nsc.Main", "-usejavacp", *OPTIONS, *release(), "-d", str(target)]
    return run_java([jars() / "*", *(folder / "*" for folder in more)], [*compiler, *files])


def release() -> list[str]:
    """Options for the oldest Java that Spark supports, where this Java has its signatures."""
    known = (java_home() / "lib" / "ct.sym").is_file()
    return ["-release", str(JAVA_RELEASE)] if known else []


def run_java(classes: Sequence[Path], words: Sequence[str]) -> int:
    """Run a class to its end; its exit code."""
    path = os.pathsep.join(map(str, classes))
    command = [str(java_home() / "bin" / "java"), "-cp", path, *words]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
