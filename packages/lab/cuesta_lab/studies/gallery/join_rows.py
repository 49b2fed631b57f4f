"""Join two tables by their key: `join_rows.py TOOL LEFT RIGHT ANSWER`."""

from __future__ import annotations

import csv
import sys


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
    "pandas": with_pandas,
    "python": with_python,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](*sys.argv[2:])
