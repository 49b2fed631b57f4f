"""`cuesta run WORKLOAD INPUT... -o DIR`: one trial, measured and verified."""

from __future__ import annotations

import typer

from cuesta.cli.options import (
    ColdCommand,
    Common,
    engine_option,
    make_command,
    make_plan,
    make_trial,
)
from cuesta.engines import ENGINE_NAMES
from cuesta.workloads import WORKLOAD_NAMES, Workload, get_workload


def register(app: typer.Typer) -> None:
    """Add `run` with a subcommand for every workload."""
    run = typer.Typer(help="Run a workload on one engine.", no_args_is_help=True)
    engine = engine_option("engine", "native", f"Engine to run on: {', '.join(ENGINE_NAMES)}.")
    for name in WORKLOAD_NAMES:
        workload = get_workload(name)
        command = make_command(workload, engine, _run)
        run.command(name, help=workload.summary, cls=ColdCommand)(command)
    app.add_typer(run, name="run")


def _run(
    workload: Workload, inputs: tuple[str, ...], parameters: dict[str, object], common: Common
) -> None:
    from cuesta.cli.output import Output
    from cuesta.cli.tables import print_run
    from cuesta.engines import get_engine
    from cuesta.errors import InputError
    from cuesta.lab.run import run_trial

    if len(common.engines) != 1:
        raise InputError("--engine takes one engine; `cuesta compare` takes several")
    engine = get_engine(common.engines[0])
    trial = make_trial(workload, inputs, parameters, common)
    plan = make_plan(common)
    with Output(as_json=common.json) as output:
        record = run_trial(engine, trial, plan, output.observer)
    output.print_json(record)
    print_run(output.console, record, plan.output)
