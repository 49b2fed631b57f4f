"""The command `simulate`: hits of each policy on a recorded trace."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta_store.errors import EngineMissing

if TYPE_CHECKING:
    from cuesta_store.simulate import Simulation

PAGES = "cuesta_store.pages"
"""Group of entry points with functions that draw pages."""


def simulate_policies(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A recorded trace.", show_default=False)
    ],
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", help="lru, sieve, s3-fifo or clock-pro; all of them if not given."
        ),
    ] = None,
    memories: Annotated[
        list[str] | None,
        typer.Option("--memory", help="A size to try; eighths of all blocks if not given."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write an HTML page with curves, and say what to take.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what each eviction policy would have hit, for memories of several sizes.

    Each policy without and with admission (+a): that a block displaces others where that will pay.
    """
    from cuesta_store.simulate import PICTURE_STEPS, STEPS, recommendation, simulate
    from cuesta_store.units import parse_size

    sizes = [parse_size(text, "--memory") for text in memories or ()]
    steps = PICTURE_STEPS if report else STEPS
    # Without options, the picture shows a store as it is started.
    shown = (True,) if report else (False, True)
    simulation = simulate(trace, policies or (), sizes, steps=steps, admissions=shown)
    if report:
        typer.echo(recommendation(simulation), err=True)
        typer.echo(str(_write_page(simulation, trace, report)))
    if as_json:
        typer.echo(json.dumps(asdict(simulation), indent=2))
    elif not report:
        _print_hits(simulation)


def _write_page(simulation: Simulation, trace: Path, output: Path) -> Path:
    """Have a package that draws pages write that of a simulation; return its path.

    Errors: `EngineMissing` where none is installed.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group=PAGES, name="simulation"):
        page: Path = entry.load()(simulation, trace, output)
        return page
    raise EngineMissing(
        "--report: the package cuesta draws pages; install its wheel of this release"
    )


def _print_hits(simulation: Simulation) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from cuesta_store.units import format_bytes

    typer.echo(
        f"{simulation.reads:,} reads of {format_bytes(simulation.read_bytes)}, "
        f"{simulation.blocks:,} blocks of {format_bytes(simulation.blocks_bytes)}; bytes hit:"
    )
    names = (f"{outcome.policy}{' +a' * outcome.admission}" for outcome in simulation.outcomes)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("memory", *dict.fromkeys(names)):
        table.add_column(name, justify="right", no_wrap=True)
    rows: dict[int, list[str]] = {}
    for outcome in simulation.outcomes:
        share = outcome.hit_bytes / simulation.read_bytes if simulation.read_bytes else 0.0
        rows.setdefault(outcome.memory_bytes, []).append(f"{share:.1%}")
    for memory, shares in rows.items():
        table.add_row(format_bytes(memory), *shares)
    Console(highlight=False).print(table)
