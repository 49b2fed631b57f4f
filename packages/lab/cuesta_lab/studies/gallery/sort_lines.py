"""Sort the lines of a text by their bytes: `sort_lines.py TOOL INPUT ANSWER`."""

from __future__ import annotations

import sys
from pathlib import Path


def with_duckdb(text: str, answer: str) -> None:
    """Sort a table of one column."""
    import duckdb

    options = "header = false, delim = '\\t', quote = '', columns = {'line': 'VARCHAR'}"
    duckdb.sql(
        f"COPY (SELECT line FROM read_csv('{text}', {options}) ORDER BY line) TO '{answer}' "
        "(HEADER false, DELIMITER '\\t', QUOTE '')"
    )


def with_polars(text: str, answer: str) -> None:
    """Sort a frame of one column."""
    import polars as pl

    frame = pl.read_csv(text, has_header=False, separator="\t", quote_char=None)
    frame.sort(frame.columns[0]).write_csv(answer, include_header=False, quote_style="never")


def with_python(text: str, answer: str) -> None:
    """Sort a list of lines."""
    lines = Path(text).read_bytes().splitlines(keepends=True)
    lines.sort()
    with Path(answer).open("wb") as written:
        written.writelines(lines)


TOOLS = {"duckdb": with_duckdb, "polars": with_polars, "python": with_python}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](sys.argv[2], sys.argv[3])
