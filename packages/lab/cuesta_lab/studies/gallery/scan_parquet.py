"""Count and sum the values above a limit by groups: `scan_parquet.py TOOL INPUT ANSWER`.

`scan_parquet.py write FILE ROWS` writes the input: an integer `group`, a `value` and a column that
no query wants.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

LIMIT = 750.0
"""A quarter of the rows pass."""
GROUPS = 1000
SEED = 7
BATCH_ROWS = 1 << 20
_QUERY = (
    'SELECT "group", count(*) AS rows, sum(value) AS total FROM {} '
    f'WHERE value > {LIMIT} GROUP BY "group"'
)


def with_duckdb(table: str, answer: str) -> None:
    """Scan with SQL."""
    import duckdb

    query = _QUERY.format(f"read_parquet('{table}')")
    duckdb.sql(f"COPY ({query}) TO '{answer}' (HEADER)")


def with_polars(table: str, answer: str) -> None:
    """Scan a lazy frame."""
    import polars as pl

    total = pl.col("value").sum().alias("total")
    passing = pl.scan_parquet(table).filter(pl.col("value") > LIMIT)
    passing.group_by("group").agg(pl.len().alias("rows"), total).collect().write_csv(answer)


def with_chdb(table: str, answer: str) -> None:
    """Scan with SQL of ClickHouse."""
    import chdb

    grouped = chdb.query(_QUERY.format(f"file('{table}', Parquet)"), "CSVWithNames")
    Path(answer).write_bytes(grouped.bytes())


def with_datafusion(table: str, answer: str) -> None:
    """Scan with SQL."""
    from datafusion import SessionContext

    context = SessionContext()
    context.register_parquet("t", table, file_extension="")
    options = "STORED AS CSV OPTIONS ('format.has_header' 'true')"
    context.sql(f"COPY ({_QUERY.format('t')}) TO '{answer}' {options}").collect()


def with_pyarrow(table: str, answer: str) -> None:
    """Scan a data set, with its own engine."""
    import pyarrow.csv
    import pyarrow.dataset as ds

    columns = ds.dataset(table).to_table(["group", "value"], filter=ds.field("value") > LIMIT)
    grouped = columns.group_by("group").aggregate([([], "count_all"), ("value", "sum")])
    counted = grouped.select(["group", "count_all", "value_sum"])
    pyarrow.csv.write_csv(counted.rename_columns(["group", "rows", "total"]), answer)


def with_pandas(table: str, answer: str) -> None:
    """Group a frame of the rows that pass."""
    import pandas as pd

    passing = pd.read_parquet(table, columns=["group", "value"], filters=[("value", ">", LIMIT)])
    grouped: Any = passing.groupby("group")["value"].agg(["size", "sum"])
    grouped.columns = ["rows", "total"]
    grouped.to_csv(answer)


def write(file: str, rows: int) -> None:
    """Write the input in groups of rows, the same each time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(SEED)
    schema = pa.schema([("group", pa.int32()), ("value", pa.float64()), ("note", pa.string())])
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, BATCH_ROWS):
            count = min(BATCH_ROWS, rows - start)
            group = draw.integers(GROUPS, size=count, dtype=np.int32)
            value = draw.integers(100_000, size=count) / 100
            note = pa.array(np.char.add("n", draw.integers(100, size=count).astype(str)))
            writer.write_table(pa.table([group, value, note], schema=schema))


def main(tool: str, *words: str) -> None:
    """Write the input, or scan it with a tool."""
    if tool == "write":
        write(words[0], int(words[1]))
    else:
        TOOLS[tool](words[0], words[1])


TOOLS = {
    "duckdb": with_duckdb,
    "polars": with_polars,
    "chdb": with_chdb,
    "datafusion": with_datafusion,
    "pyarrow": with_pyarrow,
    "pandas": with_pandas,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
