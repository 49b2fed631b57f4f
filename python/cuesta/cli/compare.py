"""`cuesta compare WORKLOAD INPUT... --engines A,B -o DIR`: one input through several engines.

Without a workload, `--command NAME='...'` compares any programs (`cuesta.cli.programs`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.api.declared import SEVERAL_ENGINES
from cuesta.api.options import Common, make_plan, make_trial
from cuesta.workloads import Workload

if TYPE_CHECKING:
    import typer

    from cuesta.api.console import Console

ENGINES = SEVERAL_ENGINES


def register(app: typer.Typer) -> None:
    """Add `compare` with a subcommand for each workload, and the form for any programs."""
    import typer

    from cuesta.cli import programs
    from cuesta.cli.signature import add_callback, add_workloads

    group = typer.Typer(
        help=programs.HELP, no_args_is_help=True, subcommand_metavar="[WORKLOAD INPUT...]"
    )
    add_callback(group, programs.OPTIONS, programs.command)
    add_workloads(group, ENGINES, body)
    app.add_typer(group, name="compare")


def body(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> None:
    """Run a trial on several engines, print the comparison and write the report."""
    from cuesta.cli import verbosity
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_comparison
    from cuesta.engines import get_engine
    from cuesta.errors import InputError
    from cuesta.lab.compare import compare, records_of

    if not common.engines:
        raise InputError("--engines names no engine; give some, such as native,spark")
    engines = [get_engine(name) for name in common.engines]
    trial = make_trial(workload, inputs, parameters, common)
    plan = make_plan(common, ("cuesta", *sys.argv[1:]))
    verbosity.adopt(common.verbosity, plan.command)
    with Output(as_json=common.json) as output:
        result = compare(engines, trial, plan, output.observer)
    output.print_json(result)
    print_comparison(output.console, records_of(result, plan.output))
    digest = next(iter(result["digests"].values()))
    output.console.print(f"every digest is {digest}; all verified; answers in {plan.output}")
    _write_report(plan.output, output.console)


def _write_report(folder: Path, console: Console) -> None:
    from cuesta.report import write

    path = folder / "report.html"
    write([folder], path)
    console.print(f"report: {path}")
