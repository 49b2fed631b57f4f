"""`cuesta advise WORKLOAD`: which machine, how many nodes, which engine, at what time and price."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cuesta.cli.echo import echo
from cuesta_lab.cli import typed


def register(app: typer.Typer) -> None:
    """Add `advise`."""
    app.command(
        "advise", help="Say which machine, how many nodes and which engine a job deserves."
    )(typed.command(AdviseOptions, _advise))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions:
    """The words and options of `advise`, as they are typed."""

    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="Such as assemble.")]
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None
    input_size: Annotated[
        str, typer.Option("--input-size", metavar="SIZE", help="Bytes of the input, as 452GB.")
    ]
    machines: Annotated[
        list[str] | None,
        typer.Option(
            "--machines",
            metavar="FILE...",
            help="Machines by name, file, or as cloud instances by a pattern such as 'ec2/*'.",
        ),
    ] = None
    runs: Annotated[
        list[Path] | None,
        typer.Option("--runs", metavar="PATH", help="Choose among settings that were run."),
    ] = None
    by: Annotated[
        str, typer.Option("--by", metavar="ORDER", help="Rank by time, price or energy alone.")
    ] = ""
    years: Annotated[
        float, typer.Option("--years", min=0.01, help="How long a bought node is used.")
    ] = 4.0
    setting: Annotated[
        str, typer.Option("--setting", metavar="NAME", help="Options and form that were measured.")
    ] = ""
    inputs: Annotated[
        int, typer.Option("--inputs", min=1, help="Inputs of that size, each with its own answer.")
    ] = 1
    jobs_per_month: Annotated[
        float, typer.Option("--jobs-per-month", min=0, help="How often a month; nodes must do it.")
    ] = 0.0
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what it follows from: sums, runs, assumptions.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a page.")
    ] = None


def _advise(options: AdviseOptions) -> None:
    from cuesta_lab.model import advise

    advice = _advice_for(options)
    if options.output:
        from cuesta_lab.report.advice import write

        echo(str(write(advice, options.output)), err=True)
    if options.as_json:
        echo(json.dumps(advice, indent=1))
        return
    echo(advise.headline(advice))
    for number, best in enumerate(advice["best"], start=1):
        echo(f"{number}. {best['title']}: {best['words']}")
    for line in advise.consequences(advice):
        echo(line)
    if options.explain:
        for line in explained(advice):
            echo(line)
    else:
        echo("--explain says what this follows from, --json has all choices.")


def _advice_for(options: AdviseOptions) -> dict[str, Any]:
    from cuesta.errors import InputError
    from cuesta.units import parse_size
    from cuesta.workloads import WORKLOAD_NAMES
    from cuesta_lab.model import advise, demands, measured
    from cuesta_lab.model.choices import Job
    from cuesta_lab.model.machine_names import chosen
    from cuesta_lab.model.ranking import ORDERS

    workload = options.workload
    if workload not in WORKLOAD_NAMES:
        raise InputError(f"advise {workload}: no such workload; known: {', '.join(WORKLOAD_NAMES)}")
    if options.by and options.by not in ORDERS:
        raise InputError(f"--by is {options.by!r}, give one of {', '.join(ORDERS)}")
    job = Job(
        size_bytes=parse_size(options.input_size, "--input-size"),
        years=options.years,
        inputs=options.inputs,
        jobs_per_month=options.jobs_per_month,
    )
    machines = _split([*(options.machines or ()), *(options.more or ())])
    if options.runs:
        if machines:
            raise InputError("advise: runs have machines of their own; give --runs or --machines")
        if options.by not in ("", "time"):
            raise InputError("advise: runs have no price and no energy; give --runs or --by")
        if options.setting:
            raise InputError("advise: runs have settings of their own; give --runs or --setting")
        known = measured.choices(workload, job.size_bytes, options.runs)
        return advise.advise_from_runs(workload, job, known)
    return advise.advise(
        job, chosen(machines), demands.demands(workload, options.setting), options.by
    )


def _split(words: Iterable[str]) -> list[str]:
    return [name for word in words for name in word.split(",") if name]


def explained(advice: Mapping[str, Any]) -> Iterable[str]:
    """Yield the grounds of the best choices: sums, runs, assumptions."""
    from cuesta_lab.model.advise import price_words
    from cuesta_lab.model.choices import EQUATION

    use = f", used for {advice['years']:g} years without a pause"
    yield ""
    yield EQUATION
    for number, best in enumerate(advice["best"], start=1):
        choice = best["choice"]
        yield f"{number}. {_title(choice, advice)}"
        if choice["caveat"]:
            yield f"   {choice['caveat']}"
        yield from (f"   {step}" for step in choice["steps"])
        yield from (f"   run: {file}" for file in choice["runs"])
        machine = advice["machines"].get(choice["machine"])
        if machine:
            yield f"   machine: {machine['source']}"
            yield from (f"   assumed, {text}" for text in machine["assumed"])
            price = machine["price"]
            yield f"   price: {price_words(price, use)}" if price else "   no price"
            yield from (f"   note, {text}" for text in machine["notes"])
    for demand in advice["demands"]:
        sizes = " to ".join(f"{size / 1e9:.3g}" for size in demand["sizes"])
        yield f"runs of {demand['engine']}, {sizes} GB: {demand['measured']}"
    refused = [choice for choice in advice["choices"] if choice["refused"]]
    for choice in refused:
        yield f"left out: {_title(choice, advice)}: {choice['refused']}"


def _title(choice: Mapping[str, Any], advice: Mapping[str, Any]) -> str:
    """A choice in a few words; a setting that was run has its nodes among its own words."""
    nodes = f"{choice['nodes']} x " if advice["machines"] else ""
    return f"{nodes}{choice['machine']}, {choice['engine']}"
