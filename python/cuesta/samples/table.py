"""`isolates.tsv`: a row for each sample of a batch, failed ones too.

It has no times, so that equal answers have equal rows: the page of the batch has those.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuesta import removal
from cuesta.errors import InputError, disk_error
from cuesta.lab import record
from cuesta.lab.record import Record
from cuesta.lab.verify import FULL
from cuesta.untrusted import read_text, single_line
from cuesta.workloads.assembly.files import Files
from cuesta.workloads.assembly.next_steps import TITLE
from cuesta.workloads.assembly.summary import COLUMNS, summary

FILE_NAME = "isolates.tsv"
HEAD = ("sample", "status", "reason", "digest")
NEXT = "next"
"""Column of what the sample's own page says to do next, in a few words."""
_PARTIAL = f".{FILE_NAME}.partial"

VERIFIED, SAMPLED, UNVERIFIED, FAILED, WAITING = STATES = (
    "verified", "sampled", "unverified", "failed", "waiting",
)  # fmt: skip
"""States of a sample: its answer verified in full, in part, not at all; no answer; not yet one."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: its cells by column."""

    cells: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the sample."""
        return self.cells["sample"]

    @property
    def has_answer(self) -> bool:
        """Whether the sample has an answer folder."""
        return self.cells["status"] not in (FAILED, WAITING)


def answered(folder: Path, more: Mapping[str, str]) -> Row:
    """Return the row of an answer folder. Errors: `InputError` for a damaged answer."""
    fields = record.read(folder)
    try:
        figures = summary(Files(folder, 0))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{folder}: not a whole answer ({error}); run it again") from None
    digest = str(fields["answer"]["digest"] or "")
    cells = {"sample": folder.name, "status": _status(fields), "reason": "", "digest": digest}
    cells |= {name: _text(figures[name]) for name in COLUMNS} | {NEXT: _next_steps(fields)}
    return Row(cells=cells | columns(more))


def without_answer(name: str, status: str, reason: str, more: Mapping[str, str]) -> Row:
    """Return the row of a sample without an answer."""
    cells = {"sample": name, "status": status, "reason": single_line(reason).replace("\t", " ")}
    return Row(cells=cells | columns(more))


def columns(more: Mapping[str, str]) -> dict[str, str]:
    """Return the other cells of a sheet by names that no column of the table has."""
    taken = {*HEAD, *COLUMNS, NEXT}
    return {
        f"sheet_{name}" if name in taken else name: single_line(cell).replace("\t", " ")
        for name, cell in more.items()
    }


def write(folder: Path, rows: Sequence[Row], more: Iterable[str]) -> None:
    """Replace the table of a batch in one step. Errors: `InputError` if the disk is full."""
    names = [*HEAD, *COLUMNS, NEXT, *columns(dict.fromkeys(more, ""))]
    lines = [
        "\t".join(names),
        *("\t".join(row.cells.get(name, "") for name in names) for row in rows),
    ]
    partial = folder / _PARTIAL
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        removal.put(partial, folder / FILE_NAME)
    except OSError as error:
        raise disk_error(error, str(folder)) from None


def read(folder: Path) -> list[Row]:
    """Return the rows of the table of a batch. Errors: `InputError` if it is none."""
    file = folder / FILE_NAME
    try:
        lines = read_text(file).splitlines()
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file}: not a table of samples ({error}); run the command that made it again"
        ) from None
    names = lines[0].split("\t") if lines else []
    if tuple(names[: len(HEAD)]) != HEAD:
        raise InputError(f"{file}: not a table of samples; run the command that made it again")
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:]]
    if any(len(row) < len(names) or row["status"] not in STATES for row in rows):
        raise InputError(f"{file}: a row is not whole; run the command that made it again")
    return [Row(cells=row) for row in rows]


def is_batch(folder: Path) -> bool:
    """Whether a folder has a table of samples."""
    try:
        with (folder / FILE_NAME).open("rb") as file:
            return file.readline(1 << 16).startswith("\t".join(HEAD).encode())
    except OSError:
        return False


def _status(fields: Record) -> str:
    if fields["verified"] is not True:
        return UNVERIFIED
    return VERIFIED if fields["verification"]["level"] == FULL else SAMPLED


def _next_steps(fields: Record) -> str:
    """Return the steps of the record's preview."""
    views = fields.get("preview")
    shown = (view for view in (views if isinstance(views, list) else []) if isinstance(view, dict))
    items = next((view.get("items") for view in shown if view.get("title") == TITLE), None)
    steps = [str(item[0]) for item in (items or []) if isinstance(item, list) and item]
    return single_line("; ".join(steps)).replace("\t", " ")


def _text(value: float | str | None) -> str:
    return "" if value is None else str(value)
