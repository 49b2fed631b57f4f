"""Spark sorting 100-byte records: in the JVM as a Dataset, and by PySpark's `sortByKey`.

Spark reads such records (`binaryRecords`) but cannot write them. The Dataset's rows leave the JVM
in Arrow batches, whose values are one piece of memory that a task writes as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from peers import spark_sql

RECORD_BYTES = 100


def dataset(path: Path, output: Path) -> None:
    """`orderBy` of the first ten bytes; parts as files."""
    from pyspark.sql import DataFrame, functions
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    spark = spark_sql.session()
    jvm: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    records = context.binaryRecords(str(path), RECORD_BYTES, context.hadoopConfiguration())
    made = spark._jsparkSession.createDataset(records, jvm.org.apache.spark.sql.Encoders.BINARY())
    ordered = DataFrame(made.toDF(), spark).orderBy(functions.substring("value", 1, 10))
    output.mkdir()

    def write(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context else 0
        with (output / f"part-{number:05}").open("wb") as out:
            for batch in batches:
                for values in batch.columns[:1]:
                    start = values.offset * RECORD_BYTES
                    out.write(values.buffers()[2][start : start + len(values) * RECORD_BYTES])
        yield pa.RecordBatch.from_pydict({"part": [number]})

    # `DataFrame.mapInArrow` asks for pandas, which it has no use for.
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    writing: Any = UserDefinedFunction(write, returnType="part long", evalType=kind)(ordered.value)
    plan: Any = ordered._jdf
    DataFrame(plan.mapInArrow(writing._jc, False, None), spark).collect()


def sort_by_key(path: Path, output: Path) -> None:
    """The program that a PySpark user writes: an RDD of keys and records."""
    context = spark_sql.session().sparkContext
    output.mkdir()

    def write(number: int, pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[int]:
        with (output / f"part-{number:05}").open("wb") as out:
            out.writelines(record for _, record in pairs)
        yield number

    pairs = context.binaryRecords(str(path), RECORD_BYTES).map(lambda row: (row[:10], row))
    pairs.sortByKey().mapPartitionsWithIndex(write).collect()
