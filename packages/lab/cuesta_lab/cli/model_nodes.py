"""`cuesta model nodes`: how many nodes a job deserves, by a model of measured runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuesta.cli.echo import echo
from cuesta_lab.cli.model_fit import needs_numpy

if TYPE_CHECKING:
    from cuesta_lab.model.nodes import OnNodes


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesOptions:
    """The words and options of `model nodes`, as they are typed."""

    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="What `model fit` wrote.")]
    amount: Annotated[
        str | None,
        typer.Option(
            "--amount",
            metavar="N",
            help="Blocks, rows or bytes (452GB) of the job; else the largest measured.",
        ),
    ] = None
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes",
            metavar="N,...",
            help="Numbers of nodes; else doubled as far as it answers.",
        ),
    ] = None
    group: Annotated[
        str,
        typer.Option("--group", metavar="WORDS", help="Only runs with these words in their name."),
    ] = ""
    columns: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="A column, such as memory_bytes=8e9."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


def nodes(options: NodesOptions) -> None:
    """Say how long a job takes on more nodes, what that is in node hours, and how many pay."""
    needs_numpy()
    from cuesta.errors import InputError
    from cuesta.units import parse_size
    from cuesta_lab.model import nodes as scaling
    from cuesta_lab.model import predict

    known = predict.read(options.model)
    words = options.group.split()
    groups = [group for group in known["groups"] if all(word in group["name"] for word in words)]
    if not groups:
        group_names = "; ".join(group["name"] for group in known["groups"])
        raise InputError(
            f"--group {options.group}: no runs of that; there are some of: {group_names}"
        )
    size = None if options.amount is None else float(parse_size(options.amount, "--amount"))
    counts = scaling.counts(options.nodes) if options.nodes else ()
    numbers = _numbers(options.columns or ())
    scaled = [
        (group, list(scaling.on_nodes(group, known["seed"], size, counts, numbers)))
        for group in groups
    ]
    if options.as_json:
        echo(json.dumps([_record(group, rows, size) for group, rows in scaled], indent=1))
        return
    for group, rows in scaled:
        _print(group, rows, size)


def _numbers(words: Sequence[str]) -> dict[str, str]:
    from cuesta.errors import InputError

    pairs = [word.partition("=") for word in words]
    wrong = next((word for word, pair in zip(words, pairs, strict=True) if not pair[2]), None)
    if wrong is not None:
        raise InputError(f"--with is {wrong!r}, give NAME=VALUE such as memory_bytes=8e9")
    return {name: value for name, _, value in pairs}


def _record(
    group: Mapping[str, Any], rows: Sequence[OnNodes], amount: float | None
) -> dict[str, Any]:
    from cuesta_lab.model.nodes import largest, pays_up_to

    return {
        "name": group["name"],
        "unit": group["unit"],
        "amount": largest(group) if amount is None else amount,
        "nodes": [
            {"nodes": row.nodes, **asdict(row.prediction), "node_hours": row.node_hours,
             "measured_s": row.measured_s}
            for row in rows
        ],
        "pays_up_to": pays_up_to(rows),
    }  # fmt: skip


def _print(group: Mapping[str, Any], rows: Sequence[OnNodes], amount: float | None) -> None:
    from cuesta_lab.cli.tables_plain import print_aligned
    from cuesta_lab.model.nodes import largest

    unit = group["unit"].replace("_", " ")
    echo(f"{group['name']}, {(largest(group) if amount is None else amount):,.15g} {unit}")
    if group["refused"]:
        echo(f"refused: {group['refused']}")
        return
    print_aligned([("nodes", "time", "with 90 %", "node hours", "measured"), *map(_row, rows)],
                  left=0)  # fmt: skip
    for line in _sentences(rows):
        echo(line)


def _row(on_nodes: OnNodes) -> tuple[str, ...]:
    from cuesta.units import format_seconds

    prediction = on_nodes.prediction
    measured = "" if on_nodes.measured_s is None else format_seconds(on_nodes.measured_s)
    if prediction.predicted_s is None or prediction.low_s is None or prediction.high_s is None:
        return f"{on_nodes.nodes:,}", "refused", "", "", measured
    interval = f"{format_seconds(prediction.low_s)} to {format_seconds(prediction.high_s)}"
    hours = f"{on_nodes.node_hours:.3g}"
    return f"{on_nodes.nodes:,}", format_seconds(prediction.predicted_s), interval, hours, measured


def _sentences(rows: Sequence[OnNodes]) -> Iterator[str]:
    """Sentences on the nodes that pay, the fastest, and the reasons of refusals."""
    from cuesta.units import format_count
    from cuesta_lab.model.nodes import PAYS, fastest, pays_up_to

    first, last = fastest(rows), pays_up_to(rows)
    answered = [row.nodes for row in rows if row.prediction.predicted_s]
    if first and len(answered) > 1:
        pays = f"Up to {format_count(last, 'node')} twice the nodes make" if last else "Nowhere do"
        more = "it" if last else "twice the nodes make it"
        verb = "is" if first.nodes == 1 else "are"
        here = "here" if len(answered) == len(rows) else f"of the {len(answered)} answered"
        yield (
            f"{pays} {more} at least {PAYS:g} times as fast; {format_count(first.nodes, 'node')}"
            f" {verb} the fastest {here}{_not_apart(rows, first)}."
        )
    elif first and len(rows) > 1:
        count = format_count(first.nodes, "node")
        yield f"Only {count} could be answered, so nothing says which number is the fastest."
    for row in rows:
        if row.prediction.refused:
            yield f"{format_count(row.nodes, 'node')}: {row.prediction.refused}"


def _not_apart(rows: Sequence[OnNodes], first: OnNodes) -> str:
    """Numbers of nodes whose interval has the shortest time in it, in words."""
    least = first.prediction.predicted_s or 0.0
    near = [
        f"{row.nodes:,}"
        for row in rows
        if row is not first and (row.prediction.low_s or least) < least
    ]
    return f", which {' and '.join(near)} may be too" if near else ""
