"""`cuesta model backtest`: runs on few nodes predict the measured ones on more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta.cli.echo import echo
from cuesta_lab.cli.model_fit import Runs, needs_numpy

if TYPE_CHECKING:
    from cuesta_lab.model.backtest import HoldOut


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
    from cuesta_lab.model import records
    from cuesta_lab.model.backtest import hold_out

    held_back_runs = list(hold_out(records.observed(paths), seed))
    if as_json:
        echo(json.dumps([asdict(held) for held in held_back_runs], indent=1))
        return
    _print(held_back_runs)


def _print(held_back_runs: Sequence[HoldOut]) -> None:
    from cuesta_lab.cli.tables_plain import print_aligned
    from cuesta_lab.model.backtest import combine

    if not held_back_runs:
        echo(
            "There is nothing to hold back: no group has enough runs on fewer nodes than its most."
        )
        return
    names = ("group", "fitted to nodes", "runs", "asked", "refused", "median", "worst", "within")
    rows: list[tuple[str, ...]] = [names]
    rows += [_row(held, f"up to {held.nodes_max}") for held in held_back_runs]
    rows.append(_row(combine("all", held_back_runs), ""))
    print_aligned(rows, left=2)
    for held in held_back_runs:
        for why in held.refused:
            echo(f"{held.name}, up to {held.nodes_max}: {why}")


def _row(held: HoldOut, nodes: str) -> tuple[str, ...]:
    middle, worst = held.median_error, held.worst_error
    return (
        held.name,
        nodes,
        str(held.fitted),
        str(held.asked),
        str(held.asked - len(held.errors)),
        "" if middle is None else f"{100 * middle:.1f} %",
        "" if worst is None else f"{100 * worst:+.0f} %",
        f"{held.within} of {len(held.errors)}",
    )
