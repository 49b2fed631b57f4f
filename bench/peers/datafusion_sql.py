"""DataFusion: SQL over the text file itself."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

from peers.pair_columns import INTEGERS, NAMES, SAMPLES, SCORE

_THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
_TEXT = "STORED AS CSV OPTIONS ('format.delimiter' '\t', 'format.has_header' 'false')"
_KEY = ("gene1", "gene2", '"cluster"')
"""Columns of the key; `cluster` without quotation marks is a word of its SQL."""


def connect(**tables: Path) -> SessionContext:
    """A session with files of pairs as tables."""
    context = SessionContext(SessionConfig().with_target_partitions(_THREADS))
    types = dict.fromkeys(INTEGERS, pa.int32()) | {SCORE: pa.float64(), SAMPLES: pa.string()}
    schema = pa.schema([(name, types[name]) for name in NAMES])
    for name, path in tables.items():
        context.register_csv(
            name, path, schema=schema, has_header=False, delimiter="\t", file_extension=path.suffix
        )
    return context


def passing(table: str, min_abs_score: float, columns: str) -> str:
    """Columns of the rows of a table that pass."""
    return f"SELECT {columns} FROM {table} WHERE abs({SCORE}) BETWEEN {min_abs_score} AND 1"


def join(min_abs_score: float) -> str:
    """Tables `a` and `b` matched, with the difference; in no order, where ours is sorted."""
    sides = [passing(table, min_abs_score, f"{', '.join(_KEY)}, {SCORE}") for table in ("a", "b")]
    key = ", ".join(f"a.{name}" for name in _KEY)
    equal = " AND ".join(f"a.{name} = b.{name}" for name in _KEY)
    return (
        f"SELECT {key}, 'both' AS side, a.{SCORE} AS left_score, b.{SCORE} AS right_score, "
        f"b.{SCORE} - a.{SCORE} AS difference "
        f"FROM ({sides[0]}) AS a JOIN ({sides[1]}) AS b ON {equal}"
    )


def degrees(min_abs_score: float) -> str:
    """In-degree and out-degree of every gene of table `a` that has an edge."""
    heads = passing("a", min_abs_score, "gene2 AS gene, 1 AS inward, 0 AS outward")
    tails = passing("a", min_abs_score, "gene1 AS gene, 0 AS inward, 1 AS outward")
    return (
        "SELECT gene, sum(inward) AS inward, sum(outward) AS outward "
        f"FROM ({heads} UNION ALL {tails}) GROUP BY gene"
    )


def to_text(context: SessionContext, query: str, path: Path) -> None:
    """Write the rows of a query as tab-separated text."""
    context.sql(f"COPY ({query}) TO '{path}' {_TEXT}").collect()


def to_parquet(context: SessionContext, table: str, path: Path) -> None:
    """Write a table as Parquet."""
    context.sql(f"COPY (SELECT * FROM {table}) TO '{path}' STORED AS PARQUET").collect()
