"""A real HDFS on this machine: Hadoop's own mini cluster from Maven Central, a JVM of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from cuesta.engines.spark.java import find_java

START_SECONDS = 120
JARS = Path(pyspark.__file__).parent / "jars"

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cuesta</groupId><artifactId>hdfs-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId>
      <version>{version}</version>
      <exclusions>
        <exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter-api</artifactId>
      <version>5.11.4</version>
    </dependency>
  </dependencies>
</project>
"""
"""The rest of Hadoop is among Spark's jars; the mini cluster asserts with JUnit."""


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a new file system, `hdfs://localhost:PORT`; skips where it can't be had."""
    classes = f"{jars(folder)}/*:{JARS}/*"
    java = find_java(os.environ)
    if java is None:
        pytest.skip("no Java for HDFS")
    details = folder / "details.json"
    settings = {"dfs.blocksize": "65536", "dfs.namenode.fs-limits.min-block-size": "65536"}
    command = [
        *(str(java.home / "bin" / "java"), "-Xmx256m", f"-Dtest.build.data={folder}/data"),
        *(f"-Dhadoop.log.dir={folder}", "-Djava.net.preferIPv4Stack=true", "-cp", classes),
        *("org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-writeDetails"),
        *(str(details), *(word for key in settings for word in ("-D", f"{key}={settings[key]}"))),
    ]
    with (folder / "hdfs.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield f"hdfs://localhost:{port(process, details, folder / 'hdfs.log')}"
    finally:
        process.kill()
        process.wait()


def jars(folder: Path) -> Path:
    """A folder with the jars of the mini cluster; skips without Maven or its repository."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("no Maven to get Hadoop's mini cluster with; apt-get install maven")
    hadoop = next(JARS.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    (folder / "pom.xml").write_text(POM.format(version=hadoop))
    words = ["-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}/jars"]
    done = subprocess.run([maven, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"Maven does not get Hadoop's mini cluster: {done.stdout.strip()[:200]}")
    return folder / "jars"


def port(process: subprocess.Popen[bytes], details: Path, log: Path) -> int:
    """The port of the name node, once it is up."""
    started = time.monotonic()
    while time.monotonic() - started < START_SECONDS and process.poll() is None:
        try:
            return int(json.loads(details.read_text())["namenode_port"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError(f"HDFS did not start:\n{log.read_text()[-2000:]}")
