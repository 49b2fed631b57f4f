"""`cuesta verify DIR`: hold an answer that is there against another method once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cuesta.lab.trial import Trial


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
    from cuesta.lab import record, remote
    from cuesta.lab.verify import verify as verify_answer
    from cuesta.units import format_seconds

    found = record.read(folder)
    trial = record.trial_of(found)
    with Output(as_json=False) as output, tempfile.TemporaryDirectory() as scratch:
        output.observer.stage("verifying")
        readable = _readable(trial, Path(scratch))
        result = remote.told(verify_answer(readable, folder, Path(scratch)), trial)
    recorded = found["answer"]["digest"]
    if not result.verified:
        raise VerificationError(f"{folder}: {result.fault}; its record says {recorded}")
    if result.digest != recorded:
        raise VerificationError(
            f"{folder}: the files have digest {result.digest}, their record says {recorded}"
        )
    output.console.print(
        f"{folder}: [green]verified[/], digest {result.digest} equals that of {result.method}; "
        f"{format_seconds(result.seconds)}",
        soft_wrap=True,
    )


def _readable(trial: Trial, scratch: Path) -> Trial:
    """The trial with copies of those inputs that are no files of this machine."""
    from cuesta.engines import HoldsSession, get_engine
    from cuesta.lab import remote

    if not any(map(remote.is_remote, trial.inputs)):
        return trial
    engine = get_engine(trial.engine)
    try:
        facts = remote.describe(engine, trial, scratch)
        return remote.with_copies(engine, trial, facts, scratch)
    finally:
        if isinstance(engine, HoldsSession):
            engine.close()
