"""Nodes with separate networks on a machine, and links of a rate and a delay between them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from cuesta.children import module_command
from cuesta.errors import InputError
from cuesta_lab.machines.factors import MachineFactors
from cuesta_lab.machines.journal import Journal, Step
from cuesta_lab.machines.place import Node, Place
from cuesta_lab.machines.system import find_command, output_of, succeeds

MISS_MAX = 0.3
"""Largest relative deviation of a link from the requested rate."""

PROBES_MAX = 3
"""Most measurements of a link before its rate counts as missed."""

QUEUE_SECONDS = 0.05
"""Longest delay of a packet in a link's queue before packets are dropped."""

BURST_BYTES_MIN = 128 << 10
BURST_SECONDS = 0.002
PACKETS_MAX = 100_000
END_SECONDS = 10.0

NAMESPACE = "namespace"
BRIDGE = "bridge"
_FACTOR = "link-nodes"


def refusal(factors: MachineFactors) -> str | None:
    """Reason why such links are impossible here, or None; tries them in an isolated network."""
    for command in ("ip", "tc", "unshare"):
        if not find_command(command):
            return f"machine factor link-nodes needs {command}: apt-get install iproute2"
    words = ["unshare", "--net", "ip", "link", "add", "cuesta", "type", "bridge"]
    if not succeeds(words):
        return (
            "machine factor link-nodes needs networks and bridges of its own; this kernel or "
            "container does not allow them"
        )
    if factors.link_bits_per_s and not _queues("tbf", "rate", "1gbit", "burst", "64kb", *_queue()):
        return "machine factor link-rate needs the kernel's module sch_tbf"
    if factors.link_seconds and not _queues("netem", "delay", "1ms"):
        return "machine factor link-latency needs the kernel's module sch_netem"
    return None


def make(journal: Journal, factors: MachineFactors, place: Place) -> Place:
    """Add a separate network with a link to each node of a place, and measure a link.

    Errors: `InputError` if a link misses its rate by far.
    """
    net = _free_net()
    bridge = f"cu{os.getpid()}"
    journal.note(BRIDGE, name=bridge)
    output_of(_FACTOR, ["ip", "link", "add", bridge, "type", "bridge"])
    output_of(_FACTOR, ["ip", "addr", "add", f"{net}.254/24", "dev", bridge])
    output_of(_FACTOR, ["ip", "link", "set", bridge, "up"])
    linked = []
    for index, node in enumerate(place.nodes):
        name, address = f"cuesta-{os.getpid()}-{index}", f"{net}.{index + 1}"
        link = _Link(bridge=bridge, end=f"{bridge}n{index}", namespace=name, address=address)
        _add_link(journal, factors, link)
        linked.append(replace(node, namespace=name, address=address))
    probed = _probe(factors, linked) if len(linked) > 1 else {}
    return replace(place, nodes=tuple(linked), probed={**place.probed, **probed})


def undo_namespace(step: Step) -> None:
    """Kill the processes in a network, and remove it with its end of the link."""
    name = step["name"]
    if not Path("/run/netns", name).exists():
        return
    deadline = time.monotonic() + END_SECONDS
    while pids := output_of(_FACTOR, ["ip", "netns", "pids", name]).split():
        succeeds(["kill", "-9", *(pid for pid in pids if int(pid) != os.getpid())])
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    output_of(_FACTOR, ["ip", "netns", "del", name])


def undo_bridge(step: Step) -> None:
    """Remove the bridge between the nodes."""
    if Path("/sys/class/net", step["name"]).exists():
        output_of(_FACTOR, ["ip", "link", "del", step["name"]])


@dataclass(frozen=True, kw_only=True)
class _Link:
    """A node's link: the bridge, its device there, and the node's network and address."""

    bridge: str
    end: str
    namespace: str
    address: str


def _add_link(journal: Journal, factors: MachineFactors, link: _Link) -> None:
    end, namespace = link.end, link.namespace
    journal.note(NAMESPACE, name=namespace)
    output_of(_FACTOR, ["ip", "netns", "add", namespace])
    journal.note(BRIDGE, name=end)
    peer = ["peer", "name", "eth0", "netns", namespace]
    output_of(_FACTOR, ["ip", "link", "add", end, "type", "veth", *peer])
    output_of(_FACTOR, ["ip", "link", "set", end, "master", link.bridge, "up"])
    inside = ["ip", "-n", namespace]
    output_of(_FACTOR, [*inside, "addr", "add", f"{link.address}/24", "dev", "eth0"])
    output_of(_FACTOR, [*inside, "link", "set", "lo", "up"])
    output_of(_FACTOR, [*inside, "link", "set", "eth0", "up"])
    _shape(["tc", "-n", namespace], "eth0", factors, factors.link_seconds)
    _shape(["tc"], end, factors, None)


def _shape(
    control: list[str], device: str, factors: MachineFactors, delay_seconds: float | None
) -> None:
    """Delay and throttle the packets that a device sends."""
    add, parent = [*control, "qdisc", "add", "dev", device], ["root", "handle", "1:"]
    if delay_seconds:
        delay = ["netem", "delay", f"{delay_seconds * 1e6:.0f}us", "limit", str(PACKETS_MAX)]
        output_of("link-latency", [*add, *parent, *delay])
        parent = ["parent", "1:", "handle", "2:"]
    rate = factors.link_bits_per_s
    if rate:
        burst = max(BURST_BYTES_MIN, int(rate / 8 * BURST_SECONDS))
        limit = ["tbf", "rate", f"{rate:.0f}bit", "burst", f"{burst}b", *_queue()]
        output_of("link-rate", [*add, *parent, *limit])


def _probe(factors: MachineFactors, nodes: list[Node]) -> dict[str, float]:
    """Measure rate and round trip between the first two nodes. Errors: `InputError`."""
    rate = factors.link_bits_per_s or 0.0
    module = module_command("cuesta.lab.network")
    listens = subprocess.Popen(
        [*nodes[1].prefix(), *module, nodes[1].address, "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        port = (listens.stdout.readline() if listens.stdout else "").strip()
        words = [*nodes[0].prefix(), *module, nodes[1].address, port, "probe"]
        for _ in range(PROBES_MAX):
            measured = json.loads(output_of(_FACTOR, words))
            bits = 8 * measured["sent_bytes_per_s"]
            missed = rate and abs(bits - rate) > MISS_MAX * rate
            if not missed:
                break
    finally:
        listens.kill()
        listens.communicate()
    if missed:
        raise InputError(
            f"machine factor link-rate: {bits / 1e6:.1f} Mbit/s where {rate / 1e6:.1f} Mbit/s are "
            "asked for; choose a rate that this machine has"
        )
    return {"link_bits_per_s": bits, "link_round_trip_seconds": measured["round_trip_seconds"]}


def _queue() -> list[str]:
    return ["latency", f"{QUEUE_SECONDS * 1e3:.0f}ms"]


def _queues(*words: str) -> bool:
    return succeeds(["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", *words])


def _free_net() -> str:
    """Find the prefix of 254 addresses that no interface of the machine has."""
    addresses = output_of(_FACTOR, ["ip", "-o", "-4", "addr"])
    first = os.getpid() % 25_000
    for shift in range(25_000):
        number = (first + shift) % 25_000
        net = f"10.{100 + number // 250}.{number % 250}"
        if f" {net}." not in addresses:
            return net
    raise InputError("machine factor link-nodes: no free addresses; end other studies")
