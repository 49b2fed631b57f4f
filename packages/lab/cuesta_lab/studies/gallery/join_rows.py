"""Join two tables by their key: `join_rows.py TOOL LEFT RIGHT ANSWER`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def with_duckdb(left: str, right: str, answer: str) -> None:
    """Join with SQL."""
    import duckdb

    duckdb.sql(
        f"COPY (SELECT key, a, b FROM read_csv('{left}') AS l JOIN read_csv('{right}') AS r "
        f"USING (key)) TO '{answer}' (HEADER)"
    )


def with_polars(left: str, right: str, answer: str) -> None:
    """Join lazy frames."""
    import polars as pl

    pl.scan_csv(left).join(pl.scan_csv(right), on="key").collect().write_csv(answer)


def with_chdb(left: str, right: str, answer: str) -> None:
    """Join with SQL of ClickHouse."""
    import chdb

    joined = chdb.query(
        f"SELECT key, a, b FROM file('{left}', CSVWithNames) AS l "
        f"JOIN file('{right}', CSVWithNames) AS r USING (key)",
        "CSVWithNames",
    )
    Path(answer).write_bytes(joined.bytes())


def with_datafusion(left: str, right: str, answer: str) -> None:
    """Join with SQL."""
    from datafusion import SessionContext

    context = SessionContext()
    context.register_csv("l", left, file_extension="")
    context.register_csv("r", right, file_extension="")
    query = "SELECT l.key, a, b FROM l JOIN r ON l.key = r.key"
    options = "STORED AS CSV OPTIONS ('format.has_header' 'true')"
    context.sql(f"COPY ({query}) TO '{answer}' {options}").collect()


def with_pandas(left: str, right: str, answer: str) -> None:
    """Join frames."""
    import pandas as pd

    pd.read_csv(left).merge(pd.read_csv(right), on="key").to_csv(answer, index=False)


def with_python(left: str, right: str, answer: str) -> None:
    """Join with a dictionary of the right table."""
    with open(right, encoding="ascii", newline="") as rows:  # noqa: PTH123
        values = dict(list(csv.reader(rows))[1:])
    with (
        open(left, encoding="ascii", newline="") as rows,  # noqa: PTH123
        open(answer, "w", encoding="ascii", newline="") as written,  # noqa: PTH123
    ):
        reader = csv.reader(rows)
        writer = csv.writer(written)
        writer.writerow([*next(reader), "b"])
        writer.writerows([key, a, values[key]] for key, a in reader if key in values)


TOOLS = {
    "duckdb": with_duckdb,
    "polars": with_polars,
    "chdb": with_chdb,
    "datafusion": with_datafusion,
    "pandas": with_pandas,
    "python": with_python,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](*sys.argv[2:])
