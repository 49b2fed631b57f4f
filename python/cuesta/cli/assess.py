"""`cuesta assess DIR --reference REF.fa`: how good the assembly in an answer folder is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add `assess`."""
    app.command("assess", help="Measure an assembly beside a reference genome.")(_assess)


def _assess(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="An answer folder of `run assemble`.", show_default=False
        ),
    ],
    reference: Annotated[
        Path,
        typer.Option(
            "--reference", "-r", metavar="FASTA", show_default=False,
            help="The genome to hold the contigs against, plain or gzipped.",
        ),
    ],
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
) -> None:  # fmt: skip
    """Measure the assembly in DIR and write assessment.json there; `cuesta report DIR` shows it."""
    import os

    from cuesta.assess import Plan, assess, write
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_assessment

    plan = Plan(
        reference=reference,
        circular=not linear,
        min_contig=min_contig,
        threads=len(os.sched_getaffinity(0)),
    )
    with Output(as_json=False) as output:
        output.observer.stage("aligning")
        assessment = assess(folder, plan)
        path = write(folder, assessment)
    print_assessment(output.console, assessment, path)
