"""`cuesta report PATH... -o report.html`: one self-contained HTML page out of run records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuesta.cli.echo import echo
from cuesta.plugins import remedy


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
    charts: Annotated[
        Path | None,
        typer.Option(
            "--charts",
            metavar="DIR",
            help="Also write each chart of the page into this new folder: SVG, PDF where typst is "
            "installed, and what its marks say as CSV.",
            show_default=False,
        ),
    ] = None,
) -> None:
    from cuesta.report import charts as chart_files
    from cuesta.report import write_any

    if charts is not None:
        chart_files.check(charts)
    page = write_any(paths, output)
    echo(str(page))
    if charts is not None:
        names = chart_files.export(page, charts, paths)
        echo(f"{charts}: {len(names)} files")
        if not any(name.endswith(".pdf") for name in names):
            echo(f"no PDF; {remedy('pdf')} to have it")
