"""`cuesta verify DIR`: hold an answer that is there against another method once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add `verify`."""
    app.command("verify")(verify)


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An answer folder.")],
) -> None:
    """Verify an answer folder: unchanged since its run, and what another method computes."""
    import tempfile

    from cuesta.cli.output import Output
    from cuesta.lab.audit import audit
    from cuesta.units import format_seconds

    with Output(as_json=False) as output, tempfile.TemporaryDirectory() as scratch:
        done = audit(folder, Path(scratch), output.observer)
    result = done.verification
    same = "1 file is" if done.unchanged == 1 else f"{done.unchanged} files are"
    output.console.print(
        f"{folder}: {output.console.good('verified')}, {same} as the run left them; digest "
        f"{result.digest} equals that of {result.method}; {format_seconds(result.seconds)}"
    )
