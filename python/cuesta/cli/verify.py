"""`cuesta verify DIR`: hold an answer that is there against another method once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta import removal

if TYPE_CHECKING:
    from cuesta.lab.audit import AuditOptions


def register(app: typer.Typer) -> None:
    """Add `verify`."""
    app.command("verify")(verify)


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="An answer folder, or one of many samples.")
    ],
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", help="Cores to use.", show_default="all this process may use"
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", show_default="half of the machine's memory",
            help="Hard limit, such as 8GiB or 500MB.",
        ),
    ] = None,
    fetch_inputs: Annotated[
        bool,
        typer.Option(
            "--fetch-inputs",
            help="Also read inputs at URIs that the record names, with your credentials; only for "
            "a record whose author you trust.",
        ),
    ] = False,
) -> None:  # fmt: skip
    """Verify an answer folder: unchanged since its run, and what another method computes.

    Its record is data: no option of an engine that it names is used, and nothing is fetched unless
    --fetch-inputs says so.
    """
    from cuesta.api.options import memory_limit, thread_limit
    from cuesta.cli import samples
    from cuesta.lab.audit import AuditOptions
    from cuesta.samples import table

    means = AuditOptions(
        threads=thread_limit(threads),
        memory_bytes=memory_limit(memory),
        fetch_inputs=fetch_inputs,
    )
    if table.is_batch(folder):
        samples.verify(folder, means)
    else:
        _verify_answer(folder, means)


def _verify_answer(folder: Path, means: AuditOptions) -> None:
    """Verify an answer folder, and print what its record does not prove."""
    from cuesta.cli.output import Output
    from cuesta.lab.audit import audit
    from cuesta.units import format_seconds
    from cuesta.untrusted import single_line

    with Output(as_json=False) as output, removal.temporary_folder() as temporary:
        # An engine may put something beside the folder for scratch.
        scratch = Path(temporary, "scratch")
        scratch.mkdir()
        done = audit(folder, means, scratch, output.observer)
    result = done.verification
    shown = single_line(folder)
    same = "1 file is" if done.unchanged == 1 else f"{done.unchanged} files are"
    output.console.print(
        f"{shown}: {output.console.good('verified')}, {same} as the run left them; digest "
        f"{result.digest} equals that of {result.method}; {format_seconds(result.seconds)}"
    )
    if not done.inputs_known:
        output.console.print(
            "not proven: that the inputs are those of the run; its record has no fingerprint of "
            "their content"
        )
    if done.other_files:
        output.console.print(
            f"not proven: {', '.join(done.other_files)}, which the record does not have"
        )
    if done.unproven_counts:
        counts = ", ".join(name.replace("_", " ") for name in done.unproven_counts)
        output.console.print(f"not proven: the counts {counts}, which are as the record has them")
    output.console.print(
        "not proven: times, machine, engine, versions, command and preview, which are as the "
        "record has them"
    )
