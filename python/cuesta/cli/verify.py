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
    """Verify an answer folder: compute its digest anew and compare it with another method's."""
    import tempfile

    from cuesta.cli.output import Output
    from cuesta.errors import VerificationError
    from cuesta.lab import record
    from cuesta.lab.verify import verify as verify_answer
    from cuesta.units import format_seconds

    found = record.read(folder)
    trial = record.trial_of(found)
    with Output(as_json=False) as output, tempfile.TemporaryDirectory() as scratch:
        output.observer.stage("verifying")
        result = verify_answer(trial, folder, Path(scratch))
    if not result.verified or result.digest != found["answer"]["digest"]:
        raise VerificationError(
            f"{folder}: the files have digest {result.digest}, their record says "
            f"{found['answer']['digest']}, {result.method} gives {result.expected}"
        )
    output.console.print(
        f"{folder}: [green]verified[/], digest {result.digest} equals that of {result.method}; "
        f"{format_seconds(result.seconds)}",
        soft_wrap=True,
    )
