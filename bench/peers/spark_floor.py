"""Minimal program of plain PySpark: a session, a job of two tasks, an end.

python bench/peers/spark_floor.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they come."""
    yield from batches


def main(folder: Path) -> None:
    """Count the rows of the result."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    rows = spark.range(0, 2, 1, 2).mapInArrow(same, "id long").collect()
    (folder / "rows").write_text(str(len(rows)))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
