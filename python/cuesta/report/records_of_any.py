"""Pages of any record: of runs, of samples, of a comparison of programs, of another product."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cuesta import generated
from cuesta.report import isolates
from cuesta.report.extensions import PROGRAMS_FILE, PROGRAMS_SCHEMA, has_schema, page_writer
from cuesta.report.page import write, write_section
from cuesta.report.programs import write_page
from cuesta.samples.table import is_batch


def write_any(paths: Sequence[Path], output: Path) -> Path:
    """Write the report of runs, or of one study, batch of samples or comparison of programs.

    Returns the path of the page.

    Errors: as `write`; `EngineMissing` for a study without the package that draws it.
    """
    if len(paths) == 1 and is_batch(paths[0]):
        origin = "Made by `cuesta report` from the table and the run records of samples."
        return write_section(isolates.section(paths[0]), output, origin)
    if len(paths) == 1 and has_schema(paths[0], PROGRAMS_FILE, PROGRAMS_SCHEMA):
        generated.check(output)
        return write_page(paths[0], output)
    write_record = page_writer(paths[0]) if len(paths) == 1 else None
    return write_record(paths[0], output) if write_record else write(paths, output)
