"""`cuesta explain RUN`: one screen of plain text about one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuesta.cli.echo import echo


def register(app: typer.Typer) -> None:
    """Add `explain`."""
    app.command("explain", help="Say where the time of a run went and what bounds it.")(_explain)


def _explain(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="An answer folder or its run.json.", show_default=False),
    ],
) -> None:
    from cuesta_lab.report.explain import explain

    echo(explain(run))
