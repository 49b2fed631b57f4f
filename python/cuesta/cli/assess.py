"""`cuesta assess DIR [--reference REF.fa]`: how good the assembly in an answer folder is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add `assess`."""
    words = "Measure an assembly beside its reads and a reference genome."
    app.command("assess", help=words)(_assess)


def _assess(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="An answer folder of `run assemble`.", show_default=False
        ),
    ],
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", "-r", metavar="FASTA", show_default=False,
            help="A genome to hold the contigs against, plain or gzipped.",
        ),
    ] = None,
    min_contig: Annotated[
        int,
        typer.Option(
            "--min-contig", metavar="BASES", min=0, help="Shortest contig that is looked at."
        ),
    ] = 500,
    linear: Annotated[
        bool,
        typer.Option(
            "--linear",
            help="The reference's sequences are linear; else a contig may run over their ends.",
        ),
    ] = False,
    no_reads: Annotated[
        bool, typer.Option("--no-reads", help="Do not count the k-mers of the reads anew.")
    ] = False,
) -> None:  # fmt: skip
    """Measure the assembly in DIR and write assessment.json there; `cuesta report DIR` shows it."""
    from cuesta.api.options import memory_limit, thread_limit
    from cuesta.assess import Plan, assess, write
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_assessment

    plan = Plan(
        reference=reference,
        circular=not linear,
        reads=not no_reads,
        min_contig=min_contig,
        threads=thread_limit(None),
        memory_bytes=memory_limit(None),
    )
    with Output(as_json=False) as output:
        assessment = assess(folder, plan, output.observer.stage)
        path = write(folder, assessment)
    print_assessment(output.console, assessment, path)
