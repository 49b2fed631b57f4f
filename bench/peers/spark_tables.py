"""Scans a Parquet table by Spark SQL through a store or directly, and measures the time.

    python spark_tables.py FOLDER NAME UNDER [ALLUXIO JAR]

As `store_reader.py`: each line on standard input names a way, and is answered by the seconds of a
scan of all columns and a sum of them. `ALLUXIO` is the table there, and
`JAR` its client.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuesta_store import hadoop_jar

THREADS = 2
WARM_UP = 2
SCALE = 1000
"""Factor of the columns that have a fraction, so that sums are integers."""


def main(words: Sequence[str]) -> int:
    """Scan the table at each requested place."""
    folder, name, under, *alluxio = words
    places = {"cuesta": f"cuesta://{name}", "page cache": f"file://{under}"}
    if alluxio:
        places["alluxio"] = alluxio[0]
    spark = session(Path(folder), alluxio[1:])
    known = set[str]()
    for line in sys.stdin:
        place = places[line.strip()]
        for _ in range(0 if place in known else WARM_UP):
            scan(spark, place)
        known.add(place)
        started = time.perf_counter()
        total = scan(spark, place)
        print(f"{time.perf_counter() - started:.9f} {total}", flush=True)
    return 0


def session(store: Path, jars: Sequence[str]) -> Any:
    """A local Spark that can read from the store."""
    from pyspark.sql import SparkSession

    settings = {f"spark.hadoop.{key}": value for key, value in hadoop_jar.settings(store).items()}
    settings |= {
        "spark.driver.extraClassPath": ":".join([str(hadoop_jar.JAR), *jars]),
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.hadoop.fs.alluxio.impl": "alluxio.hadoop.FileSystem",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def scan(spark: Any, place: str) -> int:
    """The sum of all numbers of a table."""
    table = spark.read.parquet(place)
    sums = [f"sum(cast({name} * {SCALE} as bigint))" for name in table.columns]
    (row,) = table.selectExpr(*sums).collect()
    return sum(map(int, row)) % (1 << 64)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
