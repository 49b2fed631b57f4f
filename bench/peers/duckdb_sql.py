"""DuckDB: SQL over the text file itself.

Tried on 1 GB and not better: all columns as text, a whole line as one column and `split_part`,
`strict_mode = false`, larger buffers, `abs(score)`, `UNION ALL` and one `GROUP BY` for degrees.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

from harness.model import THREADS
from peers.pair_columns import INTEGERS, NAMES, SAMPLES, SCORE

_TEXT = "(FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '', ESCAPE '')"


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory, free to give rows in any order, which is faster."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    connection.execute("SET preserve_insertion_order = false")
    return connection


def text(path: Path) -> str:
    """The table function that reads a file of pairs."""
    types = dict.fromkeys(INTEGERS, "INTEGER") | {SCORE: "DOUBLE", SAMPLES: "VARCHAR"}
    columns = ", ".join(f"{name}: '{types[name]}'" for name in NAMES)
    return (
        f"read_csv('{path}', columns = {{{columns}}}, delim = '\t', header = false, "
        "auto_detect = false, quote = '', escape = '', parallel = true)"
    )


def parquet(path: Path) -> str:
    """The table function that reads the same columns from Parquet."""
    return f"read_parquet('{path}')"


def score_filter(min_abs_score: float) -> str:
    """The filter of rows; as two ranges, so that a score that is no number does not pass."""
    if min_abs_score == 0.0:
        return f"{SCORE} BETWEEN -1 AND 1"
    return f"({SCORE} BETWEEN {min_abs_score} AND 1 OR {SCORE} BETWEEN -1 AND -{min_abs_score})"


def scan(table: str, min_abs_score: float) -> str:
    """All columns of the rows that pass."""
    return f"SELECT * FROM {table} WHERE {score_filter(min_abs_score)}"


def join(tables: tuple[str, str], min_abs_score: float, how: str) -> str:
    """Both versions matched, with the difference; in no order, where ours is sorted."""
    sides = [
        f"(SELECT gene1, gene2, cluster, {SCORE} FROM {table} WHERE {score_filter(min_abs_score)})"
        for table in tables
    ]
    kind = {"inner": "INNER", "outer": "FULL"}[how]
    return (
        "SELECT gene1, gene2, cluster, CASE WHEN b.score IS NULL THEN 'left' "
        "WHEN a.score IS NULL THEN 'right' ELSE 'both' END, "
        "a.score, b.score, b.score - a.score "
        f"FROM {sides[0]} a {kind} JOIN {sides[1]} b USING (gene1, gene2, cluster)"
    )


def edges(table: str, min_abs_score: float) -> str:
    """Both genes of the rows that pass."""
    return f"SELECT gene1, gene2 FROM {table} WHERE {score_filter(min_abs_score)}"


def degrees(table: str, min_abs_score: float) -> str:
    """In-degree and out-degree of every gene that has an edge."""
    return (
        f"WITH edges AS MATERIALIZED ({edges(table, min_abs_score)}), "
        "heads AS (SELECT gene2 AS gene, count(*) AS degree FROM edges GROUP BY gene2), "
        "tails AS (SELECT gene1 AS gene, count(*) AS degree FROM edges GROUP BY gene1) "
        "SELECT gene, coalesce(heads.degree, 0), coalesce(tails.degree, 0) "
        "FROM heads FULL JOIN tails USING (gene)"
    )


def to_text(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write a query's rows as tab-separated text."""
    connection.execute(f"COPY ({query}) TO '{path}' {_TEXT}")


def to_parquet(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Write a table as Parquet."""
    partial = path.with_name(f"partial-{path.name}")
    connection.execute(f"COPY (SELECT * FROM {table}) TO '{partial}' (FORMAT parquet)")
    partial.rename(path)


def to_arrays(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    """A query's columns as NumPy arrays."""
    arrays: dict[str, Any] = connection.execute(query).fetchnumpy()
    return arrays


def shown(query: str, path: Path) -> str:
    """The query as the tables show it: without the data folder and the types of the columns."""
    short = re.sub(r"columns = \{.*?\}", "columns = {...}", query)
    return short.replace(f"{path.parent}/", "").replace("\t", "\\t")
