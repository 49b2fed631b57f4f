"""Sheets of samples, with the columns of nf-core, nf-core/mag, bacass or Bactopia.

Columns are separated by commas or tabs, as the first line has them. Lines that begin with `#` are
comments. Rows of nf-core sheets with equal names are lanes of one sample.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuesta.errors import InputError
from cuesta.numerals import shortened
from cuesta.samples.paths import ReadFile, check_distinct, located
from cuesta.untrusted import read_text

NAME_CHARACTERS_MAX = 100
_LINES_SHOWN = 5
SHEET_BYTES_MAX = 64 << 20

_SAMPLE = ("sample", "id")
_FIRST = ("fastq_1", "short_reads_1", "r1")
_SECOND = ("fastq_2", "short_reads_2", "r2")
_SINGLE = ("se",)
_LANES = frozenset({"fastq_1", "short_reads_1"})
"""Columns of sheets in which a sample may have several rows."""
_LONG = frozenset({"ont", "long_reads", "longfastq", "fast5", "assembly"})
"""Columns of reads that are not used."""
_EMPTY = frozenset({"", "na", "n/a", "-"})
_NAME = re.compile(r"\w[\w.+-]*")
_TAKEN = re.compile(r"isolates\.tsv.*|report\.html|.*\.(?:partial|replaced)-[\d.]+")
"""Names of files beside the answers."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample: files of read pairs two by two, and files of single reads.

    Attributes
    ----------
    line
        Its first line in the sheet.
    more
        Values of columns that do not name reads.
    """

    name: str
    line: int
    pairs: tuple[tuple[ReadFile, ReadFile], ...] = ()
    singles: tuple[ReadFile, ...] = ()
    more: Mapping[str, str]

    @property
    def files(self) -> tuple[ReadFile, ...]:
        """All files."""
        return (*(file for pair in self.pairs for file in pair), *self.singles)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Samples in the order of their first rows; `notes` say what a user may not expect."""

    samples: tuple[Sample, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Header:
    """Names of columns in small letters, and the place of each kind."""

    names: tuple[str, ...]
    sample: str
    first: str
    second: str
    single: str

    @property
    def more(self) -> tuple[str, ...]:
        """Columns that are passed to the table."""
        used = {self.sample, self.first, self.second, self.single} | _LONG
        return tuple(name for name in self.names if name not in used)


def read(path: Path) -> Sheet:
    """Read a sheet, and find and open every file of it.

    A relative path is looked for in the folder of the sheet, then in the current folder.
    Errors: `InputError` with the line.
    """
    rows = _rows(path)
    number, cells = next(rows, (1, []))
    header = _header(path, number, cells)
    samples: dict[str, Sample] = {}
    notes: list[str] = []
    long_reads = False
    uneven: list[str] = []
    for number, cells in rows:
        values = _values(path, number, header, cells)
        if len(cells) != len(header.names):
            uneven.append(str(number))
        long_reads = long_reads or any(values.get(name) for name in _LONG)
        row = _sample(path, number, header, values)
        known = samples.get(row.name)
        samples[row.name] = _joined(path, known, row, header, notes) if known else row
    if not samples:
        raise InputError(f"{path}: the sheet has no sample; add a row for each below its header")
    check_distinct(path, [(sample.name, sample.files) for sample in samples.values()])
    if uneven:
        lines = "line" if len(uneven) == 1 else "lines"
        notes.append(
            f"warning: {path}, {lines} {shortened(uneven, _LINES_SHOWN)}: not as many cells as the "
            f"header has, {len(header.names)}; cells that are missing count as empty"
        )
    if long_reads:
        notes.append(f"{path}: long reads and assemblies of the sheet are not used")
    return Sheet(samples=tuple(samples.values()), columns=header.more, notes=tuple(notes))


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and cells of all rows. Errors: `InputError` for a file that is no text."""
    try:
        if path.stat().st_size > SHEET_BYTES_MAX:
            raise InputError(f"--samples {path}: is too large for a sheet; give a CSV or TSV file")
        text = read_text(path).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(
            f"--samples {path}: is no text in UTF-8; save the sheet as CSV or TSV"
        ) from None
    except OSError as error:
        raise InputError(
            f"--samples {path}: {(error.strerror or str(error)).lower()}; give a CSV or TSV file"
        ) from None
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip(" \t,") and not line.startswith("#")
    ]
    if not lines:
        raise InputError(f"{path}: the sheet is empty; give a header and a row for each sample")
    delimiter = "\t" if "\t" in lines[0][1] else ","
    for number, line in lines:
        try:
            (cells,) = csv.reader([line], delimiter=delimiter, strict=True)
        except (csv.Error, ValueError):
            raise InputError(
                f"{path}, line {number}: a quotation mark is not closed; write one at both ends"
            ) from None
        yield number, [cell.strip() for cell in cells]


def _header(path: Path, number: int, cells: Sequence[str]) -> _Header:
    """Return the columns. Errors: `InputError` for a header without those of samples and reads."""
    names = tuple(cell.lower() for cell in cells)
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice:
        raise InputError(f"{path}, line {number}: column {twice!r} is there twice; leave one out")
    sample, first, second, single = (
        next((name for name in names if name in kind), "")
        for kind in (_SAMPLE, _FIRST, _SECOND, _SINGLE)
    )
    separated = cells[0].lower().split(";") if cells else []
    if not sample and set(_SAMPLE) & {cell.strip(' "') for cell in separated[:-1]}:
        raise InputError(
            f"{path}, line {number}: its columns are separated by semicolons; save the sheet with "
            "commas or tabs"
        )
    if not sample or not (first or single):
        lacking = "no column of names" if not sample else "no column of reads"
        raise InputError(
            f"{path}, line {number}: the header has {lacking}; write one such as "
            "sample,fastq_1,fastq_2"
        )
    return _Header(names=names, sample=sample, first=first, second=second, single=single)


def _values(path: Path, number: int, header: _Header, cells: Sequence[str]) -> dict[str, str]:
    """Return the values of a row by column, empty where there are none.

    Errors: `InputError` for a value without a column.
    """
    if any(cells[len(header.names) :]):
        raise InputError(
            f"{path}, line {number}: {len(cells)} cells, the header has {len(header.names)}; write "
            "one cell for each column"
        )
    padded = [*cells, *[""] * len(header.names)][: len(header.names)]
    return {
        name: "" if cell.lower() in _EMPTY else cell
        for name, cell in zip(header.names, padded, strict=True)
        if name
    }


def _sample(path: Path, number: int, header: _Header, values: Mapping[str, str]) -> Sample:
    """Return the sample of a row. Errors: `InputError`."""
    name = values[header.sample]
    _check_name(path, number, name)
    first, second, singles = (
        [located(path, number, part) for part in _list(values.get(column, ""))]
        for column in (header.first, header.second, header.single)
    )
    if second and len(first) != len(second):
        raise InputError(
            f"{path}, line {number}: sample {name}: {len(first)} first and {len(second)} second "
            "files of pairs; give both files of every pair"
        )
    if not first and not singles:
        raise InputError(
            f"{path}, line {number}: sample {name} has no short reads; give files of reads, or "
            "leave the row out"
        )
    return Sample(
        name=name,
        line=number,
        pairs=tuple(zip(first, second, strict=True)) if second else (),
        singles=(*(() if second else first), *singles),
        more={column: values[column] for column in header.more},
    )


def _list(cell: str) -> list[str]:
    """Return the files of a cell: one, or several with commas, as Bactopia merges them."""
    return [part.strip() for part in cell.split(",") if part.strip()]


def _check_name(path: Path, number: int, name: str) -> None:
    """Refuse a name that is no name of a folder, or that files beside the answers have."""
    where = f"{path}, line {number}"
    if not name:
        raise InputError(f"{where}: the sample has no name; write one")
    if _TAKEN.fullmatch(name):
        raise InputError(
            f"{where}: {name!r} is no name for a sample: beside the folders of the samples, files "
            "of the command have such names; give another name"
        )
    if len(name.encode()) > NAME_CHARACTERS_MAX or not _NAME.fullmatch(name):
        raise InputError(
            f"{where}: {name!r} is no name for a sample, whose folder has it; use at most "
            f"{NAME_CHARACTERS_MAX} letters, digits and . _ + -, a letter or digit first"
        )


def _joined(path: Path, known: Sample, row: Sample, header: _Header, notes: list[str]) -> Sample:
    """Return a sample with the files of one more row. Errors: `InputError` where rows are none."""
    if header.first not in _LANES:
        raise InputError(
            f"{path}, line {row.line}: sample {row.name} is there twice, first in line "
            f"{known.line}; give each another name"
        )
    note = f"sample {row.name}: its rows are lanes, whose reads are joined"
    if note not in notes:
        notes.append(note)
    return replace(known, pairs=(*known.pairs, *row.pairs), singles=(*known.singles, *row.singles))
