"""chdb: ClickHouse's SQL over the text file itself, in the process.

Tried on 1 GB and not better: the score as a number at first, whole lines and `splitByChar`.
"""

from __future__ import annotations

import os
from pathlib import Path

import chdb

from peers.pair_columns import INTEGERS, NAMES, SAMPLES, SCORE

_THREADS = os.environ.get("OMP_NUM_THREADS", "2")
_KEY = "gene1, gene2, cluster"


def text(path: Path) -> str:
    """The table function that reads a file of pairs."""
    types = dict.fromkeys(INTEGERS, "Int32") | {SCORE: "Float64", SAMPLES: "String"}
    columns = ", ".join(f"{name} {types[name]}" for name in NAMES)
    return f"file('{path}', TSV, '{columns}')"


def passing(path: Path, min_abs_score: float, columns: str) -> str:
    """Columns of the rows that pass."""
    return f"SELECT {columns} FROM {text(path)} WHERE abs({SCORE}) BETWEEN {min_abs_score} AND 1"


def join(left: Path, right: Path, min_abs_score: float) -> str:
    """Both versions matched, with the difference; in no order, where ours is sorted."""
    sides = [passing(path, min_abs_score, f"{_KEY}, {SCORE}") for path in (left, right)]
    return (
        f"SELECT {_KEY}, 'both', a.{SCORE}, b.{SCORE}, b.{SCORE} - a.{SCORE} "
        f"FROM ({sides[0]}) AS a JOIN ({sides[1]}) AS b USING ({_KEY})"
    )


def degrees(path: Path, min_abs_score: float) -> str:
    """In-degree and out-degree of every gene that has an edge."""
    ends = "arrayJoin([(gene2, 1, 0), (gene1, 0, 1)]) AS end"
    return (
        "SELECT end.1, sum(end.2), sum(end.3) "
        f"FROM ({passing(path, min_abs_score, ends)}) GROUP BY end.1"
    )


def write(query: str, path: Path, form: str = "TSV") -> None:
    """Write the rows of a query as tab-separated text, or in another of its formats."""
    chdb.query(f"{query} INTO OUTFILE '{path}' FORMAT {form} SETTINGS max_threads = {_THREADS}")
