"""`cuesta model machines` and `cuesta model findings`: hardware, and claims of a paper on it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta.cli.echo import echo
from cuesta.numerals import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cuesta_lab.model.machines import Hardware


KEYS_MAX = 4
"""Most machines that are named before a note on all of them."""


def machines(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MACHINE...]", help="Names, files, 'ec2/*'."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List machines with what a node has and costs; a file of your own is checked."""
    from cuesta_lab.cli.tables_plain import print_aligned
    from cuesta_lab.model.machine_names import chosen

    selected = chosen(names or ())
    if as_json:
        echo(json.dumps([asdict(machine) for machine in selected], indent=2))
        return
    rows = [("machine", "disks of a node", "cores", "memory", "network", "price of a node")]
    print_aligned([*rows, *(_row(machine) for machine in selected)], left=2)
    if names:
        for note, keys in _notes(selected).items():
            echo(f"{shortened(keys, KEYS_MAX)}: {note}")


def _notes(selected: Iterable[Hardware]) -> dict[str, list[str]]:
    """Return notes and assumptions, each with the machines that it is about."""
    notes: dict[str, list[str]] = {}
    for machine in selected:
        for note in (*machine.notes, *(f"assumed, {text}" for text in machine.assumed)):
            notes.setdefault(note, []).append(machine.key)
    return notes


def findings(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold what PGA says of performance per dollar against its own prices and speedups."""
    from cuesta_lab.cli.tables_plain import print_aligned
    from cuesta_lab.model.findings import findings as all_findings

    derived_findings = all_findings()
    if as_json:
        echo(json.dumps([asdict(finding) for finding in derived_findings], indent=2))
        return
    rows = [("finding", "where", "verdict", "says", "derived")]
    rows += [
        (
            finding.name,
            finding.where,
            finding.verdict,
            f"{finding.claimed:g}",
            "" if finding.derived is None else f"{finding.derived:.2f}",
        )
        for finding in derived_findings
    ]
    print_aligned(rows, left=3)
    for finding in derived_findings:
        if finding.verdict != "follows" or finding.note:
            echo(f"{finding.name}: {' '.join(filter(None, (finding.how + '.', finding.note)))}")


def _row(hardware: Hardware) -> tuple[str, ...]:
    from cuesta.units import format_bytes, format_rate_si

    disks = hardware.disks
    price = "unknown"
    if hardware.price:
        price = (
            f"{hardware.price.hour:,.3f} $ an hour"
            if hardware.price.hour is not None
            else f"{hardware.price.node:,.0f} $"
        )
    return (
        hardware.key,
        f"{disks.count} {disks.kind}" if disks else "none",
        f"{hardware.cores}",
        format_bytes(hardware.memory_bytes),
        format_rate_si(hardware.network),
        price,
    )
