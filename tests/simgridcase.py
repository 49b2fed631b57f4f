"""A job of equal tasks in SimGrid, as a program: `python simgridcase.py CASE.json`.

Each task reads from its node's disk, gets bytes from storage that all nodes share, and computes.
Prints the seconds. Written for SimGrid 3.32 (Debian), where it was tried, and for the names of 4.1
(PyPI), where it was not. Independent of Cuesta's code.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import simgrid
from simgrid import Actor, Mailbox, this_actor

MODEL = ("network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
         "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:no")  # fmt: skip


def main(case: dict[str, Any]) -> float:
    engine = simgrid.Engine(["case", "--log=root.thres:critical", *(f"--cfg={m}" for m in MODEL)])
    zone = root(engine)
    storage = host(zone, "storage", 1)
    backbone = link(zone, "backbone", case["shared"])
    nodes = []
    for index in range(case["nodes"]):
        node = host(zone, f"n{index}", case["cores"])
        disk = disk_of(node, case["disk"])
        interface = link(zone, f"l{index}", case["network"])
        route(zone, storage, node, [backbone, interface])
        nodes.append((node, disk))
    zone.seal()
    queue = list(range(case["tasks"]))
    number = iter(range(10**9))

    def send(name: str, amount: int) -> None:
        Mailbox.by_name(name).put("x", amount)

    def worker(disk: Any) -> None:
        while queue:
            index = queue.pop(0)
            if case["disk_bytes"]:
                disk.read(int(case["disk_bytes"]))
            if case["shared_bytes"]:
                name = f"m{next(number)}"
                start(engine, "send", storage, send, name, int(case["shared_bytes"]))
                Mailbox.by_name(name).get()
            this_actor.execute(case["cpu_s"][index % len(case["cpu_s"])] * 1e9)

    for core in range(case["cores"]):
        for index, (node, disk) in enumerate(nodes):
            start(engine, f"w{core}-{index}", node, worker, disk)
    engine.run()
    return float(engine.clock)


def root(engine: Any) -> Any:
    if hasattr(engine, "netzone_root") and hasattr(engine.netzone_root, "add_netzone_full"):
        return engine.netzone_root.add_netzone_full("zone")
    return simgrid.NetZone.create_full_zone("zone")


def host(zone: Any, name: str, cores: int) -> Any:
    sim_host = (
        zone.add_host(name, 1e9) if hasattr(zone, "add_host") else zone.create_host(name, 1e9)
    )
    sim_host.core_count = cores
    return sim_host if hasattr(zone, "add_host") else sim_host.seal()


def disk_of(node: Any, rate: float) -> Any:
    if hasattr(node, "add_disk"):
        return node.add_disk(f"d-{node.name}", rate, rate)
    return node.create_disk(f"d-{node.name}", rate, rate).seal()


def link(zone: Any, name: str, rate: float) -> Any:
    if hasattr(zone, "add_link"):
        return zone.add_link(name, rate)
    return zone.create_link(name, rate).seal()


def route(zone: Any, begin: Any, end: Any, links: list[Any]) -> None:
    hops = [simgrid.LinkInRoute(each) for each in links]
    try:
        zone.add_route(begin, end, hops, True)
    except TypeError:
        zone.add_route(begin.netpoint, end.netpoint, None, None, hops, True)


def start(engine: Any, name: str, where: Any, function: Any, *words: Any) -> None:
    if hasattr(where, "add_actor"):
        where.add_actor(name, function, *words)
    else:
        Actor.create(name, where, function, *words)


if __name__ == "__main__":
    sys.stdout.write(f"{main(json.loads(Path(sys.argv[1]).read_text()))!r}\n")
