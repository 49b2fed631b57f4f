"""Spark and Hadoop with a store, as their users start them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import hadoop_jar
import maven
import spark_parts
from cuesta.engines.spark.java import find_java
from cuesta_store.hadoop_jar import current
from storekit import Program, RunningStore

ARTIFACTS = (
    "org.apache.hadoop:hadoop-common:{}",
    "org.apache.hadoop:hadoop-common:{}:tests",
    "org.apache.hadoop:hadoop-distcp:{}",
    "org.apache.hadoop:hadoop-mapreduce-client-jobclient:{}",
    "org.apache.hadoop:hadoop-mapreduce-examples:3.3.6",
    "org.assertj:assertj-core:3.12.2",
    "org.junit.jupiter:junit-jupiter:5.13.4",
    "org.junit.platform:junit-platform-console:1.13.4",
    "org.mockito:mockito-core:4.11.0",
)
"""Hadoop's test classes in the version of Spark's client, with their dependencies."""

PYTHON_PATH = os.pathsep.join(
    filter(None, [str(spark_parts.ROOT / "python"), os.environ.get("PYTHONPATH")])
)


def needs_spark() -> None:
    """Skip where Spark cannot run."""
    pytest.importorskip("pyspark")
    if find_java(os.environ) is None:
        pytest.skip("no Java")


@dataclass(frozen=True, kw_only=True)
class Hadoop:
    """Hadoop's own classes, and ours for tests."""

    classes: str

    def run(self, store: RunningStore, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a class with a store to its end."""
        process = self.start(store, *words, cwd=cwd)
        out, error = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, out, error)

    def start(self, store: RunningStore, *words: str, cwd: Path) -> subprocess.Popen[str]:
        """Start a class with a store, with pipes."""
        java = str(spark_parts.java_home() / "bin" / "java")
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [java, "-Xmx1g", f"-Dhadoop.log.dir={cwd}", "-cp", self.classes, *words],
            env=_environment(store),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            cwd=cwd,
        )

    @contextmanager
    def program(self, store: RunningStore, name: str, cwd: Path) -> Iterator[Program]:
        """Start a class of ours that answers questions; end it with the context."""
        process = self.start(store, f"cuesta.hadoop.{name}", cwd=cwd)
        try:
            yield Program(process)
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Hadoop:
    """Hadoop with our jar and our Java tests; skips where it cannot be installed."""
    needs_spark()
    version = hadoop_jar.client().stem.rpartition("-")[2]
    try:
        jars = maven.jars("hadoop-clients", [artifact.format(version) for artifact in ARTIFACTS])
    except maven.MavenError as error:
        pytest.skip(str(error))
    tests = hadoop_jar.PROJECTS / hadoop_jar.STORE / "src" / "test"
    target = tmp_path_factory.mktemp("hadoop-classes")
    jar = current()
    sources = (tests / "java").rglob("*.java")
    assert hadoop_jar.compile_into(target, sources, [jar, *jars.glob("*.jar")]) == 0
    path = [target, jar, tests / "resources", jars / "*"]
    return Hadoop(classes=os.pathsep.join(map(str, path)))


def cuesta(store: RunningStore, *words: str) -> str:
    """Return the output of a command with a store."""
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", *words],
        env=_environment(store),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def submit(store: RunningStore, script: str, folder: Path, *words: str) -> str:
    """Return the output of a script on a local Spark with the settings of `spark-conf`."""
    java = find_java(os.environ)
    assert java is not None
    conf = folder / "spark.conf"
    lines = ["spark.ui.enabled false", "spark.master local[2]"]
    # Most of the default 200 tasks of a shuffle would have no work.
    lines += ["spark.sql.shuffle.partitions 3"]
    lines += [f"spark.local.dir {folder}", f"spark.sql.warehouse.dir {folder}/warehouse"]
    conf.write_text(cuesta(store, "store", "spark-conf") + "\n".join(lines) + "\n")
    program = folder / "job.py"
    program.write_text(script)
    home = spark_parts.jars().parent
    command = [str(home / "bin" / "spark-submit"), "--properties-file", str(conf), str(program)]
    done = subprocess.run(
        [*command, *words],
        env=_environment(store)
        | {"JAVA_HOME": str(java.home_for_spark(folder)), "SPARK_HOME": str(home)},
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _environment(store: RunningStore) -> dict[str, str]:
    return os.environ | {
        "CUESTA_STORE": str(store.folder),
        "PYTHONPATH": PYTHON_PATH,
        "PYSPARK_PYTHON": sys.executable,
    }
