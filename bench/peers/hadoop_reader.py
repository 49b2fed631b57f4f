"""The program that reads by way of Hadoop, in Java: `HadoopReader.java`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from cuesta.engines.spark.java import HOW_TO_GET, find_java
from cuesta_store import hadoop_jar
from cuesta_store.errors import EngineMissing

PROGRAM = Path(__file__).with_name("HadoopReader.java")
HEAP_BYTES = 1 << 30
"""Heap of the JVM, in addition to the buffers that are read into."""


def missing() -> str | None:
    """Why it cannot run, or None."""
    java = find_java(os.environ)
    if java is None or find_spec("pyspark") is None:
        return HOW_TO_GET
    if not (java.home / "lib" / "ct.sym").is_file():
        return "its source is compiled by a JDK: apt-get install openjdk-17-jdk-headless"
    try:
        hadoop_jar.current()
    except EngineMissing as error:
        return str(error)
    return None


def words(size_bytes: int) -> list[str]:
    """The command, without the place to read."""
    java, spec = find_java(os.environ), find_spec("pyspark")
    if java is None or spec is None or spec.origin is None:
        return [sys.executable]
    bytes_max = HEAP_BYTES + size_bytes
    classes = f"{hadoop_jar.JAR}:{Path(spec.origin).parent}/jars/*"
    options = [f"-Xmx{bytes_max}", f"-XX:MaxDirectMemorySize={bytes_max}", "-cp", classes]
    # Its libraries report missing parts on the standard error, which nobody needs here.
    return [str(java.home / "bin" / "java"), *options, str(PROGRAM)]
