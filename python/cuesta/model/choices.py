"""Time and price of one job on one machine with some nodes: the bound of each resource, added up.

Work, disks, network and storage that nodes share overlap, more or less: beside what one core does
alone, a job takes at least as long as the busiest of them, and at most as long as all one after the
other. The prediction is half way; the interval has both ends, and what is not known of the machine
and of sizes never run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cuesta.model.demands import Demand
from cuesta.model.machines import Hardware
from cuesta.units import format_bytes_si, format_count

SIZE_BEYOND = 1000.0
"""How many times larger than the largest input measured of an engine, or smaller than the smallest,
that of a job may be."""
SURE = 1.645
"""Standard deviations to either side of an interval of 90 %."""
USABLE = 0.9
"""Part of memory and disks that a job may fill."""
ASSUMED = 0.25
"""Relative error of a number that nobody measured."""
MEASURED = 0.1
TENFOLD = 0.1
"""Relative error for each factor of ten beyond the largest input measured."""
TENTH = 0.3
"""The same below the smallest one, where the start rules, which nobody measured for itself."""
DOUBLING = 0.1
"""Relative error for each doubling of nodes; demands were measured on one."""
NOT_DESCRIBED = 0.5
"""Relative error, upwards alone, where the storage of a machine is not described; a guess."""
NOT_COUNTED = "its storage is not described: reading and writing are not counted"

EQUATION = (
    "time = start + what one core does alone + half way from the busiest of the other resources to"
    " their sum; the interval of 90 % has both ends, and is wider by what is not known"
)

RESOURCES = {
    "cores": "the cores",
    "one core": "the part that one core does alone",
    "disks": "the disks of the nodes",
    "network": "the network between the nodes",
    "shared storage": "the storage that nodes share",
}


@dataclass(frozen=True, kw_only=True)
class Range:
    """A value with an interval of 90 %."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Range:
        """In another unit."""
        return Range(value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def inverse(self) -> Range:
        """How many of them one of the unit is."""
        return Range(value=1 / self.value, low=1 / self.high, high=1 / self.low)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One way to run the job.

    Attributes
    ----------
    machine, engine, nodes, cores
        What, and how many cores in all.
    seconds, dollars
        None where the choice is refused; no dollars without a price.
    runs_per_dollar
        Performance per dollar: how many such runs a dollar pays for.
    resources
        Seconds that each resource is busy.
    limit
        The busiest resource.
    refused
        Why it cannot be; empty where it can.
    caveat
        What the time leaves out, so that it may be longer; empty where it leaves out nothing.
    steps
        The sums behind it, in words.
    runs
        Files of the records that it rests on, where runs were given.
    """

    machine: str
    engine: str
    nodes: int
    cores: int
    seconds: Range | None = None
    dollars: Range | None = None
    runs_per_dollar: Range | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    limit: str = ""
    refused: str = ""
    caveat: str = ""
    steps: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done: bytes of input, and how long a node that is bought is used."""

    size_bytes: float
    years: float


def choices(job: Job, machines: Sequence[Hardware], demands: Sequence[Demand]) -> Iterator[Choice]:
    """Every machine with every number of nodes it has, for every engine that can use them."""
    for machine in machines:
        for nodes in node_counts(machine):
            for demand in demands:
                if demand.many_nodes == (nodes > 1):
                    yield choice(job, machine, demand, nodes)


def node_counts(machine: Hardware) -> list[int]:
    """Powers of two up to what a job gets, and that itself."""
    powers = [2**power for power in range(machine.nodes_max.bit_length())]
    return sorted({*powers, machine.nodes_max})


def choice(job: Job, machine: Hardware, demand: Demand, nodes: int) -> Choice:
    """Time and price of one way to run the job, or why it cannot be.

    Of a machine whose storage is not described the time is that of all else, with a caveat and an
    interval that reaches further up.
    """
    bare = Choice(
        machine=machine.key,
        engine=demand.engine,
        nodes=nodes,
        cores=nodes * machine.cores,
    )
    spilled = _spilled(job, machine, demand, nodes)
    refused = size_refused(job, demand) or _no_room(job, machine, demand, nodes)
    if refused:
        return Choice(**{**vars(bare), "refused": refused})
    busy, steps = resources(job, machine, demand, nodes)
    alone = demand.start_s + busy["one core"]
    shared = [seconds for name, seconds in busy.items() if name != "one core"]
    busiest, total = alone + max(shared), alone + sum(shared)
    error = _error(job, machine, demand, nodes)
    above = error if machine.has_storage else math.hypot(error, NOT_DESCRIBED)
    seconds = Range(
        value=(busiest + total) / 2,
        low=busiest * math.exp(-SURE * error),
        high=total * math.exp(SURE * above),
    )
    hourly = machine.price.by_hour(job.years) * nodes if machine.price else None
    dollars = seconds.times(hourly / 3600) if hourly else None
    if spilled:
        steps = (*steps, f"{format_bytes_si(spilled)} have no room in memory and go to scratch")
    return Choice(
        **{
            **vars(bare),
            "seconds": seconds,
            "dollars": dollars,
            "runs_per_dollar": dollars.inverse() if dollars else None,
            "resources": busy,
            "limit": max(busy, key=lambda name: busy[name]),
            "caveat": "" if machine.has_storage else NOT_COUNTED,
            "steps": steps,
        }
    )


def size_refused(job: Job, demand: Demand) -> str:
    """Why runs of an engine say nothing of an input of that size; empty where they do."""
    smallest, largest = demand.sizes
    given, engine = format_bytes_si(job.size_bytes), demand.engine
    if job.size_bytes > SIZE_BEYOND * largest:
        return (
            f"{given} is more than {SIZE_BEYOND:,.0f} times the {format_bytes_si(largest)} of the"
            f" largest run of {engine}; measure one of at least"
            f" {format_bytes_si(job.size_bytes / SIZE_BEYOND)} and give it with --runs"
        )
    if job.size_bytes * SIZE_BEYOND < smallest:
        return (
            f"{given} is less than 1/{SIZE_BEYOND:,.0f} of the {format_bytes_si(smallest)} of the"
            f" smallest run of {engine}; measure one of at most"
            f" {format_bytes_si(job.size_bytes * SIZE_BEYOND)} and give it with --runs"
        )
    return ""


def resources(
    job: Job, machine: Hardware, demand: Demand, nodes: int
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Seconds that each resource is busy, and the sums in words."""
    size, gigabytes = job.size_bytes, job.size_bytes / 1e9
    speed = machine.core_speed
    spilled = _spilled(job, machine, demand, nodes)
    busy = {
        "cores": size * demand.cpu_s / (nodes * machine.cores * speed),
        "one core": size * demand.serial_s / speed,
    }
    several = format_count(nodes, "node")
    steps = [
        f"cores: {gigabytes:,.4g} GB x {demand.cpu_s * 1e9:.3g} s/GB / ({several} x"
        f" {machine.cores} cores x {speed:g}) = {busy['cores']:,.4g} s",
        f"one core: {gigabytes:,.4g} GB x {demand.serial_s * 1e9:.3g} s/GB / {speed:g}"
        f" = {busy['one core']:,.4g} s",
    ]
    read, written, sent = size * demand.reads, size * demand.writes, 0.0
    if machine.shared:
        busy["shared storage"] = read / machine.shared.read + written / machine.shared.write
        steps.append(
            f"shared storage: {read / 1e9:,.4g} GB read, {written / 1e9:,.4g} GB written"
            f" = {busy['shared storage']:,.4g} s"
        )
        # Equation (3) of the paper on two-level storage: it comes by the nodes' interfaces.
        sent, read, written = read + written, 0.0, 0.0
    if machine.disks:
        count = nodes * machine.disks.count
        read, written = read + spilled, written + spilled
        busy["disks"] = (read / machine.disks.read + written / machine.disks.write) / count
        steps.append(
            f"disks: {read / 1e9:,.4g} GB read, {written / 1e9:,.4g} GB written, over {count}"
            f" = {busy['disks']:,.4g} s"
        )
    sent += size * demand.exchange * (1 - 1 / nodes)
    if sent:
        busy["network"] = sent / (nodes * machine.network)
        steps.append(
            f"network: {sent / 1e9:,.4g} GB by the interfaces of {several}"
            f" = {busy['network']:,.4g} s"
        )
    return busy, tuple(steps)


def _spilled(job: Job, machine: Hardware, demand: Demand, nodes: int) -> float:
    """Bytes that have no room in the memory of the nodes."""
    needed = demand.memory * job.size_bytes
    there = USABLE * nodes * machine.memory_bytes
    return demand.spill * job.size_bytes * max(0.0, 1 - there / needed) if needed else 0.0


def _no_room(job: Job, machine: Hardware, demand: Demand, nodes: int) -> str:
    """Why neither memory nor disks hold it; empty where they do."""
    spilled = _spilled(job, machine, demand, nodes)
    if spilled and not machine.disks:
        needed = math.ceil(demand.memory * job.size_bytes / (USABLE * machine.memory_bytes))
        return f"no disk to spill to; {needed} nodes have the memory"
    if not machine.disks:
        return ""
    held = spilled + job.size_bytes * demand.writes
    held += 0.0 if machine.shared else job.size_bytes
    there = USABLE * nodes * machine.disks.count * machine.disks.size_bytes
    if held > there:
        return f"{format_bytes_si(held)} do not fit on its disks ({format_bytes_si(there)} usable)"
    return ""


def _error(job: Job, machine: Hardware, demand: Demand, nodes: int) -> float:
    """Relative standard deviation of what is not known."""
    guessed = any(text.startswith(("core_speed", "disks", "network")) for text in machine.assumed)
    smallest, largest = demand.sizes
    beyond = math.log10(max(1.0, job.size_bytes / largest))
    below = math.log10(max(1.0, smallest / job.size_bytes))
    parts = (
        demand.error,
        ASSUMED if guessed else MEASURED,
        TENFOLD * beyond,
        TENTH * below,
        DOUBLING * math.log2(nodes),
    )
    return math.hypot(*parts)
