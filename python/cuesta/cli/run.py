"""`cuesta run WORKLOAD INPUT... -o DIR`: one trial, measured and verified."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cuesta.api.declared import ONE_ENGINE
from cuesta.api.options import Common, make_plan, make_trial, single_engine
from cuesta.workloads import Workload

if TYPE_CHECKING:
    import typer

ENGINES = ONE_ENGINE


def register(app: typer.Typer) -> None:
    """Add `run` with a subcommand for each workload."""
    import typer

    from cuesta.cli.signature import add_workloads

    run = typer.Typer(help="Run a workload on one engine.", no_args_is_help=True)
    add_workloads(run, ENGINES, body, has_samples=True)
    app.add_typer(run, name="run")


def body(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> None:
    """Run a trial and print its result."""
    from cuesta.cli import verbosity
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_run
    from cuesta.engines import get_engine
    from cuesta.lab.run import run_trial

    engine = get_engine(single_engine(common))
    trial = make_trial(workload, inputs, parameters, common)
    plan = make_plan(common, ("cuesta", *sys.argv[1:]))
    verbosity.adopt(common.verbosity, plan.command)
    with Output(as_json=common.json) as output:
        record = run_trial(engine, trial, plan, output.observer)
    output.print_json(record)
    print_run(output.console, record, plan.output)
