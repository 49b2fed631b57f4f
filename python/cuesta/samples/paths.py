"""Files of reads that a sheet names: where they are, and whether they can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import InputError, in_words

PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""First bytes of gzip and bgzip, bzip2, xz, zstd."""


@dataclass(frozen=True, kw_only=True)
class ReadFile:
    """A file of reads that could be opened."""

    path: str
    bytes: int
    is_packed: bool
    identity: tuple[int, int]
    """Device and number of the file, the same for all its names."""


def located(sheet: Path, line: int, name: str) -> ReadFile:
    """Return the file of a cell, by its absolute path.

    Errors: `InputError` if it is missing, of two meanings, no file, empty or not readable.
    """
    where = f"{sheet}, line {line}"
    if "://" in name:
        raise InputError(f"{where}: {name}: sheets name files of this machine; copy it here first")
    path = _place(sheet, where, name)
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise InputError(f"{where}: {path}: is no file; give a file of reads")
        with path.open("rb") as file:
            begin = file.read(8)
    except OSError as error:
        raise InputError(f"{where}: {path}: {in_words(error)}") from None
    if not begin:
        raise InputError(f"{where}: {path}: is empty; give a file of reads")
    return ReadFile(
        path=str(path),
        bytes=facts.st_size,
        is_packed=begin.startswith(PACKED),
        identity=(facts.st_dev, facts.st_ino),
    )


def _place(sheet: Path, where: str, name: str) -> Path:
    """Return the absolute path of a cell: from the sheet's folder, else from the current one."""
    beside, here = (
        Path(os.path.abspath(folder / name))  # noqa: PTH100
        for folder in (sheet.parent, Path.cwd())
    )
    if not beside.exists():
        return here if here.exists() else beside
    if beside != here and here.exists() and not beside.samefile(here):
        raise InputError(
            f"{where}: {name} is in the folder of the sheet and another file in the current one; "
            "write its path in full"
        )
    return beside


def check_distinct(sheet: Path, samples: Iterable[tuple[str, Sequence[ReadFile]]]) -> None:
    """Refuse a file that is named twice, in one sample or in two. Errors: `InputError`."""
    owners: dict[tuple[int, int], tuple[str, str]] = {}
    for name, files in samples:
        for file in files:
            owner, path = owners.setdefault(file.identity, (name, ""))
            if path:
                both = f"samples {owner} and {name}" if owner != name else f"sample {name}, twice"
                known = "" if path == file.path else f" and {path}, the same file,"
                raise InputError(
                    f"{sheet}: {file.path}{known} is of {both}; give each sample its own reads"
                )
            owners[file.identity] = (name, file.path)
