"""`cuesta model backtest`: what runs on few nodes say of the measured ones on more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta.cli.echo import echo
from cuesta.cli.model_fit import Runs, needs_numpy

if TYPE_CHECKING:
    from cuesta.model.backtest import HeldBack


def backtest(
    paths: Runs,
    seed: Annotated[int, typer.Option(help="Of the draws behind intervals.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hold back the runs on more nodes, predict them from those on fewer, and say how near it came.

    For each set of alike runs, and for each number of nodes but its largest: a model is fitted to
    the runs up to there, and asked for those beyond.
    """
    needs_numpy()
    from cuesta.model import records
    from cuesta.model.backtest import held_back

    found = list(held_back(records.observed(paths), seed))
    if as_json:
        echo(json.dumps([asdict(one) for one in found], indent=1))
        return
    _print(found)


def _print(found: Sequence[HeldBack]) -> None:
    from cuesta.cli.tables_plain import print_aligned
    from cuesta.model.backtest import together

    if not found:
        echo(
            "There is nothing to hold back: no group has enough runs on fewer nodes than its most."
        )
        return
    names = ("group", "fitted to nodes", "runs", "asked", "refused", "median", "worst", "within")
    rows: list[tuple[str, ...]] = [names]
    rows += [_row(one, f"up to {one.nodes_max}") for one in found]
    rows.append(_row(together("all", found), ""))
    print_aligned(rows, left=2)
    for one in found:
        for why in one.refused:
            echo(f"{one.name}, up to {one.nodes_max}: {why}")


def _row(one: HeldBack, nodes: str) -> tuple[str, ...]:
    middle, worst = one.median_error, one.worst_error
    return (
        one.name,
        nodes,
        str(one.fitted),
        str(one.asked),
        str(one.asked - len(one.errors)),
        "" if middle is None else f"{100 * middle:.1f} %",
        "" if worst is None else f"{100 * worst:+.0f} %",
        f"{one.within} of {len(one.errors)}",
    )
