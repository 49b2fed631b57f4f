"""`cuesta model replay`: run the tasks of a trace on a cluster that exists only as numbers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuesta.cli.echo import echo

if TYPE_CHECKING:
    from cuesta_lab.model.replay import Cluster, ReplayResult
    from cuesta_lab.model.tasks import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The words and options of `model replay`, as they are typed."""

    trace: Annotated[
        Path, typer.Argument(metavar="TRACE|RUN", help="A trace of tasks (JSON), or a run.")
    ]
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="N,...", help="Numbers of nodes to try.")
    ] = "1"
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="NAME", help="A machine by name or file.")
    ] = None
    cores: Annotated[int, typer.Option("--cores", min=1, help="Of a node.")] = 1
    disk: Annotated[
        str | None, typer.Option("--disk", metavar="RATE", help="All disks of a node together.")
    ] = None
    network: Annotated[
        str | None, typer.Option("--network", metavar="RATE", help="Interface of a node.")
    ] = None
    shared: Annotated[
        str | None, typer.Option("--shared", metavar="RATE", help="Storage of all nodes.")
    ] = None
    launch_ms: Annotated[
        float, typer.Option("--launch-ms", min=0, help="What starting a task takes the leader.")
    ] = 0.0
    scale: Annotated[
        float, typer.Option("--scale", min=1e-6, help="Times as many tasks as the trace has.")
    ] = 1.0
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Also with each resource infinitely fast.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


def replay(options: ReplayOptions) -> None:
    """Say how long the tasks of a trace take on other nodes, and what cores wait for."""
    from cuesta_lab.model import replay as simulation
    from cuesta_lab.model import tasks

    stages = tasks.scaled(tasks.read(options.trace), options.scale)
    base = _cluster(options)
    results = []
    for nodes in _counts(options.nodes):
        cluster = replace(base, nodes=nodes)
        result = simulation.replay(stages, cluster)
        free = _freed(stages, cluster) if options.what_if else {}
        results.append((cluster, result, free))
    if options.as_json:
        echo(json.dumps([_record(*result) for result in results], indent=1))
        return
    _print(results)


def _freed(stages: list[Stage], cluster: Cluster) -> dict[str, float]:
    from cuesta_lab.model import replay as simulation

    return {
        name: simulation.replay(stages, simulation.without_cost(cluster, name)).seconds
        for name in simulation.FREE
    }


def _counts(text: str) -> list[int]:
    from cuesta.errors import InputError

    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise InputError(f"--nodes is {text!r}, give numbers of nodes such as 1,10,100")
    return [int(word) for word in words]


def _cluster(options: ReplayOptions) -> Cluster:
    from cuesta.units import parse_rate
    from cuesta_lab.model.machine_names import chosen
    from cuesta_lab.model.replay import Cluster

    made = Cluster(nodes=1, cores=options.cores)
    if options.machine:
        hardware = chosen([options.machine])[0]
        made = replace(
            made, cores=hardware.cores, network=hardware.network, speed=hardware.core_speed
        )
        if hardware.disks:
            made = replace(
                made, disk=hardware.disks.count * min(hardware.disks.read, hardware.disks.write)
            )
        if hardware.shared:
            made = replace(made, shared=min(hardware.shared.read, hardware.shared.write))
        if not (hardware.has_storage or options.disk or options.shared):
            echo(
                f"{hardware.key}: its storage is not described: reading and writing take no time;"
                " give --disk or --shared",
                err=True,
            )
    return replace(
        made,
        launch_s=options.launch_ms / 1e3,
        disk=parse_rate(options.disk, "--disk") if options.disk else made.disk,
        network=parse_rate(options.network, "--network") if options.network else made.network,
        shared=parse_rate(options.shared, "--shared") if options.shared else made.shared,
    )


def _record(cluster: Cluster, result: ReplayResult, free: dict[str, float]) -> dict[str, object]:
    from math import isinf

    known = {n: None if isinf(value) else value for n, value in asdict(cluster).items()}
    return {"cluster": known, **asdict(result), "free_s": free}


def _print(results: list[tuple[Cluster, ReplayResult, dict[str, float]]]) -> None:
    from cuesta.units import format_seconds
    from cuesta_lab.cli.tables_plain import print_aligned

    names = list(results[0][1].core_seconds)
    free = list(results[0][2])
    rows = [["nodes", "time", *names, "idle", *(f"free {name}" for name in free)]]
    for cluster, result, without in results:
        total = result.seconds * cluster.nodes * cluster.cores or 1.0
        shares = [result.core_seconds[name] / total for name in names]
        cells = [f"{100 * share:.0f} %" for share in (*shares, max(0.0, 1 - sum(shares)))]
        ends = [format_seconds(without[name]) for name in free]
        rows.append([f"{cluster.nodes:,}", format_seconds(result.seconds), *cells, *ends])
    print_aligned(rows, left=0)
    echo("Shares are of the time of all cores.")
