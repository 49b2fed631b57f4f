"""Answers in text: CSV and its kin, JSON lines, and plain lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from cuesta.programs.answers.cells import Cell, Row, number, timed, typed
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer, checked_names, numbered

_CACHE_MAX = 1 << 16
"""Most texts of cells whose values are remembered."""
_NESTED = (dict, list)


def delimited(files: Sequence[Path], form: Form) -> Table:
    """Rows of text separated by commas, semicolons or tabs. Errors: `UnreadableAnswer`."""
    delimiter = "\t" if form.kind == "tsv" else _delimiter(files)
    first = next((row for file in files for row in _records(file, delimiter)), None)
    if first is None:
        raise UnreadableAnswer("its answer has no line")
    named = _is_header(first[1]) if form.header is None else form.header
    columns = checked_names([name.strip() for name in first[1]]) if named else None
    width = len(first[1])

    def rows() -> Iterator[Row]:
        values: dict[str, Cell] = {}
        for file in files:
            reader = _records(file, delimiter)
            if named:
                header = next(reader, None)
                if header and tuple(name.strip() for name in header[1]) != columns:
                    raise UnreadableAnswer(f"{file.name} has other columns than {files[0].name}")
            for line, texts in reader:
                if len(texts) != width:
                    raise UnreadableAnswer(
                        f"line {line:,} of {file.name} has {len(texts)} fields, expected {width}"
                    )
                yield tuple([_typed(text, values) for text in texts])

    names = columns if columns is not None else numbered(width)
    return Table(columns=names, is_named=named, is_ordered=False, rows=rows)


def json_lines(files: Sequence[Path], _form: Form) -> Table:
    """An object a line; the columns are all keys of the first. Errors: `UnreadableAnswer`."""
    first = next((value for file in files for _, value in _objects(file)), None)
    if first is None:
        raise UnreadableAnswer("its answer has no line")
    columns = tuple(first)

    def rows() -> Iterator[Row]:
        for file in files:
            for line, value in _objects(file):
                if value.keys() != first.keys():
                    keys = ", ".join(sorted(value.keys() ^ first.keys()))
                    raise UnreadableAnswer(
                        f"line {line:,} of {file.name} has other keys than the first line: {keys}"
                    )
                yield tuple([plain(value[name]) for name in columns])

    return Table(columns=columns, is_named=True, is_ordered=False, rows=rows)


def lines(files: Sequence[Path], _form: Form) -> Table:
    """A column of the lines as they are."""

    def rows() -> Iterator[Row]:
        for file in files:
            with opened(file) as stream:
                for line in stream:
                    yield (line.removesuffix("\n").removesuffix("\r"),)

    return Table(columns=("line",), is_named=True, is_ordered=False, rows=rows)


@contextmanager
def opened(file: Path) -> Iterator[TextIO]:
    """Open a text, also a compressed one. Errors: `UnreadableAnswer` where it is no UTF-8."""
    try:
        with file.open("rb") as raw:
            packed = file.suffix.lower() == ".gz"
            content: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise UnreadableAnswer(f"{file.name} is not UTF-8: {error.reason}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnreadableAnswer(f"{file.name} is not whole gzip: {error}") from None


def plain(value: object) -> Cell:
    """A value of JSON or Arrow as a cell; nested ones are text."""
    match value:
        case None | bool():
            return value
        case int() | float():
            return number(value)
        case str():
            return timed(value) or None
        case _ if isinstance(value, _NESTED):
            return json.dumps(value, sort_keys=True, default=str)
        case bytes():
            return f"0x{value.hex()}"
        case _:
            return typed(str(value))


def _typed(text: str, values: dict[str, Cell]) -> Cell:
    """Type a text, or look it up: columns repeat their values."""
    try:
        return values[text]
    except KeyError:
        value = typed(text)
        if len(values) < _CACHE_MAX:
            values[text] = value
        return value


def _delimiter(files: Sequence[Path]) -> str:
    """A comma, unless the first line has none and has semicolons or tabs instead."""
    for file in files:
        with opened(file) as stream:
            line = stream.readline()
        if line:
            return next((sign for sign in ",;\t" if sign in line), ",")
    return ","


def _records(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line and the texts of each record that is not blank."""
    csv.field_size_limit(sys.maxsize)
    with opened(file) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            for texts in reader:
                if texts:
                    yield reader.line_num, texts
        except csv.Error as error:
            raise UnreadableAnswer(
                f"line {reader.line_num:,} of {file.name} cannot be read: {error}"
            ) from None


def _is_header(texts: Sequence[str]) -> bool:
    """Whether a first line names columns: it has text in all of its fields."""
    return all(isinstance(typed(text.strip()), str) for text in texts)


def _objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(file) as stream:
        for line, text in enumerate(stream, start=1):
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise UnreadableAnswer(
                    f"line {line:,} of {file.name} is not JSON: {error}"
                ) from None
            if not isinstance(value, dict):
                raise UnreadableAnswer(f"line {line:,} of {file.name} is not an object")
            yield line, value
