"""`cuesta study run|list|check`: a file of trials with a question, and the page that answers it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add `study` with its subcommands."""
    group = typer.Typer(
        help="Run a file of trials that ask a question, and draw the answer.", no_args_is_help=True
    )
    group.command("run", help="Run a study, going on where it was stopped; write its report.")(_run)
    group.command("list", help="List the studies that come with Cuesta.")(_list)
    group.command("check", help="Say what a study would run here, without running it.")(_check)
    app.add_typer(group, name="study")


_Study = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its TOML file.")]


def _run(
    name: _Study,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the study.")
    ],
    engines: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these of its engines.")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", metavar="N", help="Repeats, instead of the study's.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Hard limit of every trial.")
    ] = None,
) -> None:
    from dataclasses import replace

    from cuesta.api.options import memory_limit
    from cuesta.cli.output import Output
    from cuesta.engines import get_engine
    from cuesta.errors import InputError
    from cuesta.lab import study
    from cuesta.lab.run import Plan
    from cuesta.report import write_study

    asked = study.read(name)
    if repeat is not None:
        asked = replace(asked, repeats=repeat)
    chosen = [one.strip() for one in engines.split(",")] if engines else list(asked.engines)
    wrong = [one for one in chosen if one not in asked.engines]
    if wrong:
        raise InputError(
            f"--engines: the study has no {wrong[0]}; it has {', '.join(asked.engines)}"
        )
    plan = Plan(output=output)
    output.mkdir(parents=True, exist_ok=True)
    with Output(as_json=False) as told:
        held = {one: get_engine(one) for one in chosen}
        study.run(asked, held, plan, memory_limit(memory), told.observer)
    path = write_study(output, output / "report.html")
    typer.echo(f"report: {path}")


def _list() -> None:
    from cuesta.lab import study

    for name in study.names():
        typer.echo(f"{name:16} {study.read(name).question}")


def _check(name: _Study) -> None:
    from cuesta.engines import get_engine
    from cuesta.lab import study
    from cuesta.machine import memory_bytes

    asked = study.read(name)
    for series, variant, cores in study.trials(asked):
        trial = asked.trial(series, variant, (cores, memory_bytes() // 2))
        missing = get_engine(variant.engine).missing()
        words = {**trial.parameters, **trial.engine_options}
        given = ", ".join(f"{key} {value}" for key, value in words.items())
        typer.echo(f"{series.name:16} {variant.name:12} on {cores:<3} {missing or given}")
