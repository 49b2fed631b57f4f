"""Formats of answers, and the reader of each."""

from __future__ import annotations

import stat
from pathlib import Path

from cuesta.errors import EngineMissing, InputError
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer

CSV, TSV, JSON_LINES, LINES = "csv", "tsv", "jsonl", "lines"
PARQUET, ARROW, NUMPY, BYTES = "parquet", "arrow", "npy", "bytes"
FORMATS = (CSV, TSV, JSON_LINES, PARQUET, ARROW, NUMPY, LINES, BYTES)

_BY_SUFFIX = {
    ".csv": CSV,
    ".tsv": TSV,
    ".tab": TSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".parquet": PARQUET,
    ".arrow": ARROW,
    ".arrows": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".npy": NUMPY,
}
_PACKAGES = {PARQUET: "pyarrow", ARROW: "pyarrow", NUMPY: "numpy"}
"""By format, the package that reads it."""


def kind_of(name: str) -> str:
    """The format of a file by its name; `BYTES` for an unknown one."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
        return kind if (kind := _BY_SUFFIX.get(suffix)) in (CSV, TSV, JSON_LINES) else BYTES
    return _BY_SUFFIX.get(suffix, BYTES)


def check_readable(kind: str) -> None:
    """Refuse a format whose reader is not installed. Errors: `EngineMissing`, `InputError`."""
    if kind not in FORMATS:
        raise InputError(f"--format is {kind!r}, give one of {', '.join(FORMATS)}")
    from importlib.util import find_spec

    package = _PACKAGES.get(kind)
    if package and find_spec(package) is None:
        raise EngineMissing(
            f"compare: answers in {kind} are read by {package}, which is not installed; "
            f"pip install {package}"
        )


def files_of(answer: Path) -> list[Path]:
    """The files of an answer: itself, or those in a folder, without marks such as `_SUCCESS`.

    Errors: `UnreadableAnswer` if there is none, or one is empty or no regular file.
    """
    try:
        mode = answer.lstat().st_mode
    except OSError:
        raise UnreadableAnswer("it wrote no answer") from None
    if stat.S_ISDIR(mode):
        names = (path for path in answer.rglob("*") if not path.name.startswith(("_", ".")))
        files = sorted(path for path in names if not path.is_dir())
    else:
        files = [answer]
    for file in files:
        if not stat.S_ISREG(file.lstat().st_mode):
            raise UnreadableAnswer(f"its answer {file.name} is a link, pipe or device, not a file")
    if not files or all(file.stat().st_size == 0 for file in files):
        raise UnreadableAnswer("its answer is empty (0 bytes)")
    return files


def read(answer: Path, form: Form) -> Table:
    """Read an answer as a table; not for `BYTES`. Errors: `UnreadableAnswer`."""
    from cuesta.programs.answers import arrays, columns, text

    files = files_of(answer)
    readers = {
        CSV: text.delimited,
        TSV: text.delimited,
        JSON_LINES: text.json_lines,
        LINES: text.lines,
        PARQUET: columns.parquet,
        ARROW: columns.arrow,
        NUMPY: arrays.numpy_file,
    }
    try:
        table = readers[form.kind](files, form)
    except OSError as error:
        raise UnreadableAnswer(f"its answer cannot be read: {error.strerror or error}") from None
    return table
