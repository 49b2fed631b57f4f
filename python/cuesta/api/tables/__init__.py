"""Tables of an answer folder: their names and contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.api.tables import binary, sequences, text
from cuesta.api.tables.columns import Columns
from cuesta.api.tables.forms import Form, form_here, made
from cuesta.errors import InputError, in_words
from cuesta.untrusted import within

__all__ = ["Form", "Wish", "names", "table"]

Reader = Callable[[Path, Sequence[str] | None], Columns]


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Source of a table: its file, the reader of the file, and the table's columns."""

    path: Path
    read: Reader
    columns: Callable[[Path], tuple[str, ...]]


def names(folder: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Names of the tables in these files and folders of an answer, the main one first."""
    return tuple(_sources(folder, files))


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Selection of a table, of its columns, and of a form; None leaves the choice."""

    name: str | None
    columns: Sequence[str] | None
    form: Form | None


def table(folder: Path, files: Sequence[str], wish: Wish) -> Any:
    """A table of an answer. Errors: as `cuesta.Answer.table`."""
    form = form_here(wish.form)
    sources = _sources(folder, files)
    if not sources:
        raise InputError(f"{folder}: this answer has no table; its files are {', '.join(files)}")
    source = sources.get(next(iter(sources)) if wish.name is None else wish.name)
    if source is None:
        raise InputError(f"{folder} has no table {wish.name!r}; it has {', '.join(sources)}")
    try:
        _check_columns(source, wish.columns)
        return made(source.read(source.path, wish.columns), form)
    except OSError as error:
        raise InputError(f"{source.path}: {in_words(error)}") from None
    except (ValueError, IndexError, KeyError) as error:
        what = " ".join(str(error).split())
        raise InputError(f"{source.path}: {what}; `cuesta verify` tells what changed") from None


def _check_columns(source: _Source, wanted: Sequence[str] | None) -> None:
    known = source.columns(source.path) if wanted is not None else ()
    unknown = next((name for name in wanted or () if name not in known), None)
    if unknown is not None:
        raise InputError(f"{source.path} has no column {unknown!r}; it has {', '.join(known)}")


def _sources(folder: Path, files: Sequence[str]) -> Mapping[str, _Source]:
    """The tables, by name."""
    sources: dict[str, _Source] = {}
    for file in files:
        path = within(folder, file)
        if path.is_dir() and path.suffix != ".zarr":
            sources |= _sources(folder, sorted(f"{file}/{entry.name}" for entry in path.iterdir()))
            continue
        if path.name in _NOT_TABLES:
            continue
        stem = file.removesuffix(path.suffix)
        for name, read, columns in _READERS.get(path.suffix, ()):
            sources[name or stem] = _Source(path=path, read=read, columns=columns)
        if path.name in text.FILES_WITH_TOTALS:
            sources[text.TOTALS] = _Source(path=path, read=text.read_totals, columns=text.header_of)
    return sources


_NOT_TABLES = frozenset({"background.txt", "report.tsv"})
"""Files whose form is that of other programs, and no table."""

_READERS: dict[str, tuple[tuple[str, Reader, Callable[[Path], tuple[str, ...]]], ...]] = {
    ".tsv": (("", text.read_table, text.header_of),),
    ".txt": (("", text.read_pairs, text.pair_columns),),
    ".zarr": (("", binary.read_matrix, binary.matrix_columns),),
    ".npy": (("", binary.read_assignments, binary.assignment_columns),),
    ".dat": (("", binary.read_records, binary.record_columns),),
    ".fa": (("", sequences.read_fasta, sequences.fasta_columns),),
    ".gfa": (
        ("segments", sequences.read_segments, sequences.segment_columns),
        ("links", sequences.read_links, sequences.link_columns),
    ),
}
"""By ending of a file: its tables, each with its name (that of the file when empty), what reads it
and what names its columns."""
