"""`cuesta run assemble --samples SHEET -o DIR`, and `cuesta verify DIR` of what it made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.api.declared import WORKLOAD_PANEL, Option
from cuesta.errors import (
    CuestaError,
    Defect,
    EngineError,
    InputError,
    VerificationError,
)
from cuesta.workloads import Workload

if TYPE_CHECKING:
    from cuesta.api.console import Console
    from cuesta.lab.audit import AuditOptions
    from cuesta.samples.batch import Batch, Task
    from cuesta.samples.table import Row

SAMPLES = Option(
    name="samples", words=("--samples",), kind=Path, panel=WORKLOAD_PANEL, metavar="SHEET",
    help="A sheet of samples, CSV or TSV with the columns of nf-core, bacass or Bactopia, instead "
    "of reads: each gets an answer folder in -o, and all a table; --threads and --memory are for "
    "all together.",
    shown=False,
)  # fmt: skip

_KINDS = (Defect, VerificationError, EngineError, InputError)
"""Errors by weight: the exit code of a batch is that of the first kind that a sample had."""


def or_samples(workload: Workload, single: Callable[..., None]) -> Callable[..., None]:
    """Return a command that runs the samples of a sheet, or else calls `single`."""

    def command(**values: Any) -> None:
        sheet = values.pop(SAMPLES.name)
        if sheet is None:
            single(**values)
        else:
            _run(workload, sheet, values)

    return command


def _run(workload: Workload, sheet: Path, values: Mapping[str, Any]) -> None:
    """Run all samples. Errors: `CuestaError` that names those which failed, once all have ended."""
    from cuesta.cli.output import Output
    from cuesta.samples import batch, crew
    from cuesta.samples import sheet as sheets

    made = batch.make(workload, sheets.read(sheet), values)
    with Output(as_json=False) as output, batch.held(made.output):
        waiting = batch.waiting(made)
        for note in made.sheet.notes:
            output.observer.note(note)
        progress = _Progress(made, waiting, output.console)
        if waiting:
            crew.run(waiting, made.total, output.observer, progress.ended)
    progress.finish()


class _Progress:
    """The table of a batch as its samples end, and what a terminal shows of them."""

    def __init__(self, batch: Batch, waiting: tuple[Task, ...], console: Console) -> None:
        from cuesta.samples import table

        self._batch = batch
        self._console = console
        self._errors: dict[str, CuestaError] = {}
        self._done = len(batch.tasks) - len(waiting)
        names = {task.sample.name for task in waiting}
        self._rows: dict[str, Row] = {}
        for task in batch.tasks:
            sample = task.sample
            self._rows[sample.name] = (
                table.without_answer(sample.name, table.WAITING, "", sample.more)
                if sample.name in names
                else table.answered(task.folder, sample.more)
            )
        self._write()
        if self._done:
            console.print(f"{self._done} of {len(batch.tasks)} samples have their answers already")

    def ended(self, task: Task, error: CuestaError | None, seconds: float) -> None:
        """Record and show the end of a sample."""
        from cuesta.samples import table

        name, more = task.sample.name, task.sample.more
        try:
            row = None if error else table.answered(task.folder, more)
        except CuestaError as damage:
            error, row = damage, None
        if error:
            self._errors[name] = error
            row = table.without_answer(name, table.FAILED, str(error), more)
        assert row is not None
        self._rows[name] = row
        self._write()
        self._done += 1
        self._show(row, seconds)

    def finish(self) -> None:
        """Show where the answers are. Errors: `CuestaError` if a sample failed."""
        self._console.print(f"  {self._console.dim('table'.ljust(10))}{self._table}")
        if not self._errors:
            return
        kind = next(kind for kind in _KINDS if _has(self._errors, kind))
        names = [name for name in self._rows if name in self._errors]
        first = names[0]
        raise kind(
            f"{len(names)} of {len(self._batch.tasks)} samples failed: {', '.join(names)}; "
            f"{first}: {self._errors[first]}"
        )

    @property
    def _table(self) -> Path:
        from cuesta.samples import table

        return self._batch.output / table.FILE_NAME

    def _write(self) -> None:
        from cuesta.samples import table

        table.write(self._batch.output, list(self._rows.values()), self._batch.sheet.columns)

    def _show(self, row: Row, seconds: float) -> None:
        from cuesta.numerals import plural
        from cuesta.units import format_seconds

        count = f"{self._done} of {len(self._batch.tasks)}"
        cells = row.cells
        if not row.has_answer:
            failed = self._console.bad("failed")
            self._console.print(f"{count}  {row.name}: {failed}: {cells['reason']}")
            return
        self._console.print(
            f"{count}  {self._console.bold(row.name)}: {cells['status']}, "
            f"{plural(int(cells['contigs']), 'contig')}, {int(cells['total_length']):,} bases, N50 "
            f"{int(cells['n50']):,}, depth {cells['depth']}, circles {cells['circles']}, "
            f"{format_seconds(seconds)}"
        )


def _has(errors: Mapping[str, CuestaError], kind: type[CuestaError]) -> bool:
    return any(isinstance(error, kind) for error in errors.values())


def verify(folder: Path, options: AuditOptions) -> None:
    """Verify all samples of a batch.

    Errors: `VerificationError` or `InputError` naming the samples that are wrong or have no answer.
    """
    from cuesta.cli.output import Output
    from cuesta.samples import audit

    bad: list[audit.Verdict] = []
    count = 0
    with Output(as_json=False) as output:
        for verdict in audit.verdicts(folder, options, output.observer):
            count += 1
            if verdict.error is None:
                output.console.print(f"{verdict.name}: {output.console.good('verified')}")
            else:
                bad.append(verdict)
                output.console.print(f"{verdict.name}: {output.console.bad(str(verdict.error))}")
    if not bad:
        return
    wrong = [verdict for verdict in bad if not verdict.lacks_answer]
    names = ", ".join(verdict.name for verdict in wrong or bad)
    if wrong:
        kind = VerificationError if _is_wrong(wrong) else InputError
        raise kind(f"{folder}: {len(wrong)} of {count} samples are not verified: {names}")
    raise InputError(
        f"{folder}: {len(bad)} of {count} samples have no answer: {names}; the lines above say why"
    )


def _is_wrong(verdicts: list[Any]) -> bool:
    return any(isinstance(verdict.error, VerificationError) for verdict in verdicts)
