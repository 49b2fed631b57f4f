"""`cuesta report PATH... -o report.html`: one self-contained HTML page out of run records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuesta.cli.echo import echo


def register(app: typer.Typer) -> None:
    """Add `report`."""
    app.command("report", help="Write one self-contained HTML page out of run records.")(_report)


def _report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Answer folders, folders of them, run.json or compare.json files; or one study, "
            "comparison of programs, or folder of samples.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page to write; of a comparison of programs also .md, .tex or .csv.",
        ),
    ] = Path("report.html"),
) -> None:
    from cuesta.report import write_any

    echo(str(write_any(paths, output)))
