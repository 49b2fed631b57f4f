"""Reads tab-separated answers: tables under a header, and gene pairs as KINC version-1 text.

With PyArrow on all cores; without it, line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuesta.api.tables.columns import Column, Columns, Kind, chosen, kind_of

TOTALS = "all"
"""The first cell of a last line that has the sums of all others, of `FILES_WITH_TOTALS`."""

FILES_WITH_TOTALS = ("averages.tsv", "features.tsv")

_KINDS_OF: dict[str, dict[str, Kind]] = {"tree.tsv": {"height": "number"}}
"""Kinds of columns that differ in a file: an image has its height in pixels."""

_NO_VALUE = ("", "nan", "NA", "-", TOTALS)

GENES_FILE = "genes.tsv"
"""File of the names of all genes, next to gene pairs that have them."""

_NAMES = {"name1": "gene1", "name2": "gene2"}
"""Column of the gene for each column of a name."""

_PAIR_COLUMNS = (
    "gene1", "gene2", "cluster", "num_clusters", "cluster_samples", "missing", "outliers",
    "pair_outliers", "threshold", "score", "mask",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Names and kinds of the columns of a file, and how many lines precede them."""

    kinds: dict[str, Kind]
    header_lines: int


def read_table(path: Path, wanted: Sequence[str] | None) -> Columns:
    """The rows under the header, without a last line of sums."""
    rows, _ = _split(path)
    return chosen(rows, wanted)


def read_totals(path: Path, wanted: Sequence[str] | None) -> Columns:
    """The last line, of sums, as a table of one row."""
    _, totals = _split(path)
    return chosen(totals, wanted)


def header_of(path: Path) -> tuple[str, ...]:
    """Names of the columns of a table."""
    with path.open(encoding="utf-8") as file:
        return tuple(file.readline().rstrip("\n").split("\t"))


def read_pairs(path: Path, wanted: Sequence[str] | None) -> Columns:
    """Gene pairs; a row with several scores has them as `score`, `score_1`...

    Where names of genes are in the file's folder, the rows have them too.
    """
    with path.open(encoding="ascii") as file:
        fields = file.readline().split("\t")
    several = len(fields) == len(_PAIR_COLUMNS) and "," in fields[9]
    kinds: dict[str, Kind] = dict.fromkeys(_PAIR_COLUMNS[:9], "integer")
    kinds |= {"score": "text" if several else "number", "mask": "text"}
    columns = _columns(path, _Layout(kinds=kinds, header_lines=0), _sources(wanted))
    if several and "score" in columns:
        columns |= _several(columns["score"], fields[9].count(",") + 1)
    order = pair_columns(path) if wanted is None else wanted
    if any(name in _NAMES for name in order):
        columns |= _named(path, columns)
    return chosen(columns, order)


def pair_columns(path: Path) -> tuple[str, ...]:
    """Names of the columns that `read_pairs` returns."""
    with path.open(encoding="ascii") as file:
        fields = file.readline().split("\t")
    more = fields[9].count(",") if len(fields) == len(_PAIR_COLUMNS) else 0
    names = tuple(_NAMES) if path.with_name(GENES_FILE).is_file() else ()
    scores = (f"score_{index}" for index in range(1, more + 1))
    return (*_PAIR_COLUMNS[:2], *names, *_PAIR_COLUMNS[2:10], *scores, "mask")


def _sources(wanted: Sequence[str] | None) -> list[str] | None:
    """The columns of the file in which those wanted are."""
    if wanted is None:
        return None
    sources = (_NAMES.get(name, "score" if name.startswith("score") else name) for name in wanted)
    return list(dict.fromkeys(sources))


def _named(path: Path, columns: Columns) -> Columns:
    """The names of the genes of each row, from the file of names in the folder of `path`."""
    names_file = path.with_name(GENES_FILE)
    layout = _Layout(kinds={"gene": "integer", "name": "text"}, header_lines=1)
    names = _columns(names_file, layout, ["name"])["name"].values
    sources = {name: columns[gene].values for name, gene in _NAMES.items() if gene in columns}
    return {name: Column(kind="text", values=_taken(names, genes))
            for name, genes in sources.items()}  # fmt: skip


def _taken(names: Any, genes: Any) -> Any:
    """The name of each gene, these counted from 1."""
    if isinstance(names, list) or isinstance(genes, list):
        return [names[gene - 1] for gene in genes]
    from pyarrow import compute

    return names.combine_chunks().take(compute.subtract(genes, 1))


def _several(column: Column, count: int) -> Columns:
    """The scores of each row, a column each."""
    texts = column.values if isinstance(column.values, list) else column.values.to_pylist()
    lists = [text.split(",") for text in texts]
    columns = {}
    for index in range(count):
        name = f"score_{index}" if index else "score"
        values = [_number(scores[index]) if index < len(scores) else None for scores in lists]
        columns[name] = Column(kind="number", values=values)
    return columns


def _split(path: Path) -> tuple[Columns, Columns]:
    """The rows of a table, and its last line where that has sums, else an empty table."""
    names = header_of(path)
    kinds: dict[str, Kind] = {name: kind_of(name) for name in names} | _KINDS_OF.get(path.name, {})
    columns = _columns(path, _Layout(kinds=kinds, header_lines=1), None)
    if path.name not in FILES_WITH_TOTALS:
        return columns, {}
    rows, totals = {}, {}
    for name, column in columns.items():
        count = len(column.values)
        rows[name] = Column(kind=column.kind, values=column.values[: count - 1])
        last = column.values[count - 1 :]
        cell = last[0] if isinstance(last, list) else last[0].as_py()
        if cell not in (None, *_NO_VALUE):
            totals[name] = Column(kind=column.kind, values=last)
    return rows, totals


def _columns(path: Path, layout: _Layout, names: Sequence[str] | None) -> Columns:
    """Read the columns called `names`, or all. Errors: `ValueError` where the file differs."""
    wanted = list(layout.kinds) if names is None else list(names)
    if path.stat().st_size == 0 or not wanted:
        return {name: Column(kind=layout.kinds[name], values=[]) for name in wanted}
    read = _with_arrow if find_spec("pyarrow") else _line_by_line
    return read(path, layout, wanted)


def _with_arrow(path: Path, layout: _Layout, wanted: list[str]) -> Columns:
    import pyarrow as pa
    from pyarrow import csv

    types = {"integer": pa.int64(), "number": pa.float64(), "text": pa.string()}
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(
            column_names=list(layout.kinds), skip_rows=layout.header_lines
        ),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
        convert_options=csv.ConvertOptions(
            column_types={name: types[kind] for name, kind in layout.kinds.items()},
            include_columns=wanted,
            null_values=list(_NO_VALUE),
            strings_can_be_null=False,
        ),
    )
    return {name: Column(kind=layout.kinds[name], values=table.column(name)) for name in wanted}


def _line_by_line(path: Path, layout: _Layout, wanted: list[str]) -> Columns:
    places = [list(layout.kinds).index(name) for name in wanted]
    readers = [_READERS[layout.kinds[name]] for name in wanted]
    values: list[list[Any]] = [[] for _ in wanted]
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if number <= layout.header_lines:
                continue
            cells = line.rstrip("\n").split("\t")
            try:
                for into, place, reader in zip(values, places, readers, strict=True):
                    into.append(reader(cells[place]))
            except (IndexError, ValueError):
                raise ValueError(f"line {number} is not a row of the table") from None
    return {
        name: Column(kind=layout.kinds[name], values=column)
        for name, column in zip(wanted, values, strict=True)
    }


def _integer(cell: str) -> int | None:
    return None if cell in _NO_VALUE else int(cell)


def _number(cell: str) -> float | None:
    return None if cell in _NO_VALUE else float(cell)


_READERS: dict[Kind, Callable[[str], Any]] = {"integer": _integer, "number": _number, "text": str}
