"""Conversion of downloaded files to a GEM: tab-separated text, a sample per column, a gene per row.

Numbers of text files are copied unchanged; those of binary files are written with the
fewest digits that give the same number back.
"""

from __future__ import annotations

import ast
import csv
import gzip
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cuesta.errors import InputError

MISSING = "NA"
_MISSING_WORDS = frozenset({"", "na", "nan", "null", "none"})


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix being read: the sample names, and an iterator of (gene name, values)."""

    samples: Sequence[str]
    rows: Iterator[tuple[str, Sequence[str]]]


def convert(how: str, parts: Sequence[Path], output: Path) -> tuple[int, int]:
    """Write the GEM made of `parts` to `output`; return (genes, samples).

    Errors: `InputError` with the file and the line of an invalid part.
    """
    try:
        matrix = CONVERTERS[how](parts)
        with output.open("w", encoding="utf-8", newline="\n") as out:
            genes = _write(matrix, out, parts[0].name)
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise InputError(
            f"data.convert: {parts[0].name} is damaged: {error}; obtain it again"
        ) from error
    return genes, len(matrix.samples)


def _write(matrix: Matrix, out: TextIO, name: str) -> int:
    out.write("\t".join(matrix.samples) + "\n")
    width, genes = len(matrix.samples), 0
    for gene, values in matrix.rows:
        genes += 1
        if len(values) != width:
            raise InputError(
                f"data.convert: row {genes} ({gene}) of {name} has {len(values)} values, "
                f"expected {width}"
            )
        out.write(gene + "\t" + "\t".join(values) + "\n")
    return genes


def _gem(parts: Sequence[Path]) -> Matrix:
    lines = _lines(parts[0])
    samples = next(lines, "").split("\t")
    return Matrix(samples=samples, rows=_split_rows(lines, skip=1))


def _gct(parts: Sequence[Path]) -> Matrix:
    """GCT: a version line, the shape, a header `Name Description SAMPLE...`, rows likewise."""
    lines = _lines(parts[0])
    if not next(lines, "").startswith("#1."):
        raise InputError(
            f"data.convert: {parts[0].name} does not begin like a GCT file (#1.2); obtain it again"
        )
    next(lines, "")
    return Matrix(samples=next(lines, "").split("\t")[2:], rows=_split_rows(lines, skip=2))


def _series_matrix(parts: Sequence[Path]) -> Matrix:
    """Series matrix of GEO: the table between two marks, names in quotes."""
    lines = _lines(parts[0])
    for line in lines:
        if line == "!series_matrix_table_begin":
            break
    else:
        raise InputError(
            f"data.convert: {parts[0].name} holds no !series_matrix_table_begin; obtain it again"
        )
    samples = [_unquoted(name) for name in next(lines, "").split("\t")[1:]]
    table = (line for line in lines if line and not line.startswith("!"))
    return Matrix(samples=samples, rows=_split_rows(table, skip=1))


def _nci60(parts: Sequence[Path]) -> Matrix:
    """Samples x genes as a NumPy file, and the tumour of each sample."""
    data, labels = parts
    values, (samples, genes) = _numpy_f64(data)
    names = [_unquoted(label) for label in list(_lines(labels))[1:]]
    if len(names) != samples:
        raise InputError(
            f"data.convert: {labels.name} names {len(names)} samples, the matrix has {samples}; "
            "obtain both again"
        )
    columns = ([repr(value) for value in values[gene::genes]] for gene in range(genes))
    return Matrix(samples=_numbered(names), rows=_named(columns))


def _khan(parts: Sequence[Path]) -> Matrix:
    """Training and test sets, samples x genes as CSV, with the class of each sample."""
    samples: list[str] = []
    values: list[list[str]] = []
    for set_name, table, classes in (("train", parts[0], parts[1]), ("test", parts[2], parts[3])):
        labelled = zip(_csv(table), list(_lines(classes))[1:], strict=True)
        for number, (row, class_line) in enumerate(labelled, start=1):
            samples.append(f"{set_name}{number}.class{class_line}")
            values.append(row)
    columns = (list(column) for column in zip(*values, strict=True))
    return Matrix(samples=samples, rows=_named(columns))


CONVERTERS: dict[str, Callable[[Sequence[Path]], Matrix]] = {
    "none": _gem,
    "gct": _gct,
    "series-matrix": _series_matrix,
    "nci60": _nci60,
    "khan": _khan,
}


def _split_rows(lines: Iterable[str], skip: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Split rows whose first `skip` fields are names, of which the first is used."""
    for line in lines:
        fields = line.split("\t")
        yield _unquoted(fields[0]), [_value(field) for field in fields[skip:]]


def _value(field: str) -> str:
    return MISSING if field.strip().lower() in _MISSING_WORDS else field.strip()


def _unquoted(name: str) -> str:
    return name.strip().removeprefix('"').removesuffix('"')


def _named(columns: Iterable[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Name genes of a dataset without names g1, g2, ..."""
    for index, values in enumerate(columns):
        yield f"g{index + 1}", values


def _numbered(names: Sequence[str]) -> list[str]:
    """Make names unique: the n-th occurrence gets the suffix `.n`."""
    counts: Counter[str] = Counter()
    numbered = []
    for name in names:
        counts[name] += 1
        numbered.append(f"{name}.{counts[name]}")
    return numbered


def _lines(path: Path) -> Iterator[str]:
    """Yield lines without their ends, of plain text or gzip."""
    with path.open("rb") as probe:
        is_gzip = probe.read(2) == b"\x1f\x8b"
    with (
        gzip.open(path, "rt", encoding="utf-8") if is_gzip else path.open(encoding="utf-8") as text
    ):
        for line in text:
            yield line.rstrip("\r\n")


def _csv(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text))[1:]


def _numpy_f64(path: Path) -> tuple[array[float], tuple[int, int]]:
    """A 2-D NumPy file of little-endian f64 in row order, read without NumPy."""
    content = path.read_bytes()
    if content[:8] != b"\x93NUMPY\x01\x00":
        raise InputError(
            f"data.convert: {path.name} is not a NumPy file of version 1.0; obtain it again"
        )
    (header_bytes,) = struct.unpack("<H", content[8:10])
    header = ast.literal_eval(content[10 : 10 + header_bytes].decode("latin-1"))
    if header["descr"] != "<f8" or header["fortran_order"] or len(header["shape"]) != 2:
        raise InputError(
            f"data.convert: {path.name} is no matrix of f64 in row order; obtain it again"
        )
    values = array("d", content[10 + header_bytes :])
    rows, columns = header["shape"]
    if len(values) != rows * columns:
        raise InputError(f"data.convert: {path.name} is cut short; obtain it again")
    return values, (rows, columns)
