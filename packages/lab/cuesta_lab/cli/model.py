"""`cuesta model`: equations and fits that say how long a job takes elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuesta.cli.echo import echo
from cuesta_lab.cli import typed
from cuesta_lab.cli.model_backtest import backtest
from cuesta_lab.cli.model_fit import fit, predict
from cuesta_lab.cli.model_machines import findings, machines
from cuesta_lab.cli.model_nodes import NodesOptions, nodes
from cuesta_lab.cli.model_replay import ReplayOptions, replay

if TYPE_CHECKING:
    from cuesta_lab.model.crossover import Crossover


RATES = ("network", "disk-read", "disk-write", "memory", "backplane")
"""Rates that `--node` may name."""


def register(app: typer.Typer) -> None:
    """Add `model` with its subcommands."""
    group = typer.Typer(
        help="Predict how long a job takes elsewhere, with intervals.", no_args_is_help=True
    )
    group.command("fit")(fit)
    group.command("predict")(predict)
    group.command("nodes", help=nodes.__doc__)(typed.command(NodesOptions, nodes))
    group.command("backtest")(backtest)
    group.command("crossover")(crossover)
    group.command("replay", help=replay.__doc__)(typed.command(ReplayOptions, replay))
    group.command("machines")(machines)
    group.command("findings")(findings)
    app.add_typer(group, name="model")


def crossover(
    parallel: Annotated[
        list[str] | None,
        typer.Option(metavar="RATE", help="Throughput of the parallel file system in all."),
    ] = None,
    in_memory: Annotated[
        list[float] | None,
        typer.Option(metavar="F", help="Fraction of the bytes in memory, 0 to 1.", min=0, max=1),
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RATE",
            help="A rate of one compute node: network, disk-read, disk-write, memory; or backplane,"
            " of all switches.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say from how many nodes on local disks (HDFS) move more than storage that nodes share.

    Without options: the case of the paper on two-level storage. Equations (1) to (7).
    """
    from cuesta_lab.model.crossover import PAPER, PAPER_AGGREGATES, PAPER_FRACTIONS, crossovers

    aggregates = [_rate(text, "--parallel") for text in parallel or ()] or PAPER_AGGREGATES
    rates = _with_rates(PAPER, node or ())
    results = list(crossovers(rates, aggregates, in_memory or PAPER_FRACTIONS))
    if as_json:
        known = {name: _finite(value) for name, value in asdict(rates).items()}
        shown = {
            "schema": "cuesta.crossover/1",
            "rates": {name: known[name] for name in known if not name.startswith("data_")},
            "crossovers": [
                {name: _finite(value) for name, value in asdict(result).items()}
                for result in results
            ],
        }
        echo(json.dumps(shown, indent=2))
        return
    _print_crossovers(results)
    echo(_rates_of_a_node(rates, PAPER))


def _with_rates(rates: Any, words: Iterable[str]) -> Any:
    from dataclasses import replace

    from cuesta.errors import InputError

    changes: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in RATES or not equals:
            raise InputError(f"--node is {word!r}, give NAME=RATE with one of {', '.join(RATES)}")
        changes[name.replace("-", "_")] = _rate(text, f"--node {name}")
    return replace(rates, **changes)


def _rates_of_a_node(rates: Any, paper: Any) -> str:
    """The rates behind a table; rates that were not given are the paper's."""
    from cuesta.units import format_rate_si

    known = {name: getattr(rates, name.replace("-", "_")) for name in RATES}
    words = [f"{name} {format_rate_si(rate)}" for name, rate in known.items()]
    changed = [name for name in RATES if known[name] != getattr(paper, name.replace("-", "_"))]
    unchanged = ", ".join(name for name in RATES if name not in changed)
    whose = (
        "all of the paper"
        if not changed
        else f"of the paper: {unchanged}"
        if unchanged
        else "all given"
    )
    return f"of a node: {', '.join(words)} ({whose}; --node changes them)"


def _rate(text: str, option: str) -> float:
    from cuesta.units import parse_rate

    return parse_rate(text, option)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value


def _print_crossovers(results: Iterable[Crossover]) -> None:
    from cuesta.units import format_rate_si
    from cuesta_lab.cli.tables_plain import print_aligned

    rows = [("shared storage", "moves", "HDFS ahead from", "there", "at most")]
    for result in results:
        at_crossover = result.aggregate_bytes_per_s
        part = f", {result.in_memory:g} in memory" if result.in_memory else ""
        rows.append(
            (
                f"{result.storage} {format_rate_si(result.parallel_bytes_per_s)}{part}",
                result.operation,
                "never" if result.nodes is None else f"{result.nodes:,} nodes",
                "" if at_crossover is None else format_rate_si(at_crossover),
                format_rate_si(result.limit_bytes_per_s),
            )
        )
    print_aligned(rows, left=2)
