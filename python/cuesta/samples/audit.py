"""Verification of all answers of a batch, and of its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cuesta import removal
from cuesta.errors import CuestaError, VerificationError
from cuesta.lab.audit import AuditOptions, audit
from cuesta.lab.observer import Observer
from cuesta.samples import table
from cuesta.samples.table import Row
from cuesta.untrusted import within


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result for a sample: the `error`, or None for an answer that is right."""

    name: str
    error: CuestaError | None
    lacks_answer: bool = False


def verdicts(folder: Path, options: AuditOptions, observer: Observer) -> Iterator[Verdict]:
    """Verify the samples of a batch one by one, and their rows. Errors: `InputError`."""
    for row in table.read(folder):
        if not row.has_answer:
            reason = row.cells["reason"] or "not assembled yet"
            error = CuestaError(f"{row.cells['status']}: {reason}")
            yield Verdict(name=row.name, error=error, lacks_answer=True)
            continue
        try:
            _verify(within(folder, row.name), row, options, observer)
        except CuestaError as error:
            yield Verdict(name=row.name, error=error)
        else:
            yield Verdict(name=row.name, error=None)


def _verify(folder: Path, row: Row, options: AuditOptions, observer: Observer) -> None:
    """Verify an answer and its row. Errors: `CuestaError`."""
    with removal.temporary_folder() as temporary:
        scratch = Path(temporary, "scratch")
        scratch.mkdir()
        audit(folder, options, scratch, observer)
    for name, cell in table.answered(folder, {}).cells.items():
        if row.cells.get(name) != cell:
            raise VerificationError(
                f"{folder.parent / table.FILE_NAME}: {name} of {row.name} is "
                f"{row.cells.get(name)!r}, its answer gives {cell!r}"
            )
