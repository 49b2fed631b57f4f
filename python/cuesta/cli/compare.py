"""`cuesta compare WORKLOAD INPUT... --engines A,B -o DIR`: one input through several engines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cuesta.cli.options import (
    ColdCommand,
    Common,
    engine_option,
    make_command,
    make_plan,
    make_trial,
)
from cuesta.workloads import WORKLOAD_NAMES, Workload, get_workload

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add `compare` with a subcommand for every workload."""
    group = typer.Typer(
        help="Run a workload on several engines and hold their answers equal.",
        no_args_is_help=True,
    )
    engines = engine_option("engines", "native,spark,array", "Engines, separated by commas.")
    for name in WORKLOAD_NAMES:
        workload = get_workload(name)
        command = make_command(workload, engines, _compare)
        group.command(name, help=workload.summary, cls=ColdCommand)(command)
    app.add_typer(group, name="compare")


def _compare(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> None:
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_comparison
    from cuesta.engines import get_engine
    from cuesta.errors import InputError
    from cuesta.lab.compare import compare, records_of

    if not common.engines:
        raise InputError("--engines names no engine")
    engines = [get_engine(name) for name in common.engines]
    trial = make_trial(workload, inputs, parameters, common)
    plan = make_plan(common)
    with Output(as_json=common.json) as output:
        result = compare(engines, trial, plan, output.observer)
    output.print_json(result)
    print_comparison(output.console, records_of(result, plan.output))
    digest = next(iter(result["digests"].values()))
    output.console.print(
        f"every digest is {digest}; all verified; answers in {plan.output}", soft_wrap=True
    )
    _write_report(plan.output, output.console)


def _write_report(folder: Path, console: Console) -> None:
    from cuesta import report

    path = folder / "report.html"
    report.write([folder], path)
    console.print(f"report: {path}", soft_wrap=True)
