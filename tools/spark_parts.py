"""Parts of PySpark, without importing it: its jars, and the Java to run them with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class SparkMissing(Exception):
    """A missing part and its remedy, in one line."""


def jars() -> Path:
    """The folder of the jars of Spark, of its Scala, and of Hadoop's client.

    Errors: `SparkMissing`.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkMissing("no PySpark here, whose jars these are; pip install 'cuesta[spark]'")
    return Path(spec.origin).parent / "jars"


@contextmanager
def package() -> Iterator[None]:
    """Context in which the package `cuesta` of this checkout can be imported, installed or not."""
    sys.path.insert(0, str(ROOT / "python"))
    try:
        yield
    finally:
        sys.path.pop(0)


def java_home() -> Path:
    """The Java that Spark would be started with. Errors: `SparkMissing` without one."""
    with package():
        from cuesta.engines.spark.java import HOW_TO_GET, find_java
    java = find_java(os.environ)
    if java is None:
        raise SparkMissing(HOW_TO_GET)
    return java.home
