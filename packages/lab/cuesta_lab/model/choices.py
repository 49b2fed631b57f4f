"""Time and price of one job on one machine with some nodes: the bound of each resource, added up.

Work, disks, network and shared storage overlap, more or less: apart from the serial part, a job
takes at least as long as the busiest of them, and at most as long as all in sequence. The
prediction is half way. The interval covers both ends, and the uncertainty of the machine's numbers
and of sizes that were not run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cuesta.units import format_bytes_si, format_count
from cuesta_lab.model.demands import Demand
from cuesta_lab.model.machines import Hardware

SIZE_BEYOND = 1000.0
"""Largest ratio of a job's input to the largest input measured of an engine, or of the smallest
input measured to the job's."""
SURE = 1.645
"""Half width of an interval of 90 %, in standard deviations."""
USABLE = 0.9
"""Part of memory and disks that a job may fill."""
ASSUMED = 0.25
"""Relative error of an assumed number."""
MEASURED = 0.1
TENFOLD = 0.1
"""Relative error for each factor of ten beyond the largest input measured."""
TENTH = 0.3
"""Relative error for each factor of ten below the smallest input measured: there the start, which
was not measured by itself, takes most of the time."""
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
        """Reciprocal: units per value."""
        return Range(value=1 / self.value, low=1 / self.high, high=1 / self.low)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A machine, a number of nodes and an engine for a job, with its predicted time and price.

    Attributes
    ----------
    machine, engine, nodes, cores
        Keys of the machine and the engine, number of nodes, and number of cores in all.
    seconds, dollars
        Predicted time and price; None if the choice is refused; no dollars without a price.
    runs_per_dollar
        Performance per dollar: number of such runs that a dollar pays for.
    kilowatt_hours
        Energy of the nodes, in kWh; None where their power is not known.
    resources
        Seconds that each resource is busy.
    limit
        The busiest resource.
    refused
        Reason why the choice is impossible; empty if it is possible.
    caveat
        Costs that the time omits, so that it may be longer; empty if it omits none.
    steps
        Calculation of the time, in words.
    runs
        Files of the run records behind the prediction, if there are any.
    busy
        Part of a month that the jobs of a month take; None where none were asked for.
    """

    machine: str
    engine: str
    nodes: int
    cores: int
    seconds: Range | None = None
    dollars: Range | None = None
    runs_per_dollar: Range | None = None
    kilowatt_hours: Range | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    limit: str = ""
    refused: str = ""
    caveat: str = ""
    steps: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    busy: float | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job: bytes of each input, and years for which a bought node is used.

    `inputs` are of that size each, one answer for each; `jobs_per_month` is 0 for a single job.
    """

    size_bytes: float
    years: float
    inputs: int = 1
    jobs_per_month: float = 0.0


def node_counts(machine: Hardware) -> list[int]:
    """Powers of two up to `nodes_max` of the machine, and `nodes_max` itself."""
    powers = [2**power for power in range(machine.nodes_max.bit_length())]
    return sorted({*powers, machine.nodes_max})


def choice(job: Job, machine: Hardware, demand: Demand, nodes: int) -> Choice:
    """Predict time and price of a choice, or state why it is impossible.

    For a machine whose storage is not described the time omits the storage; the choice has a caveat
    and an interval that reaches further up.
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
    """Reason why the job's input is too far from an engine's runs; empty if it is not."""
    smallest, largest = demand.sizes
    size, engine = format_bytes_si(job.size_bytes), demand.engine
    if job.size_bytes > SIZE_BEYOND * largest:
        return (
            f"{size} is more than {SIZE_BEYOND:,.0f} times the {format_bytes_si(largest)} of the"
            f" largest run of {engine}; measure one of at least"
            f" {format_bytes_si(job.size_bytes / SIZE_BEYOND)} and give it with --runs"
        )
    if job.size_bytes * SIZE_BEYOND < smallest:
        return (
            f"{size} is less than 1/{SIZE_BEYOND:,.0f} of the {format_bytes_si(smallest)} of the"
            f" smallest run of {engine}; measure one of at most"
            f" {format_bytes_si(job.size_bytes * SIZE_BEYOND)} and give it with --runs"
        )
    return ""


def resources(
    job: Job, machine: Hardware, demand: Demand, nodes: int
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Seconds that each resource is busy, and the calculation in words."""
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
        # Equation (3) of the paper on two-level storage: it passes the nodes' interfaces.
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
    """Bytes that exceed the memory of the nodes."""
    needed = demand.memory * job.size_bytes
    available = USABLE * nodes * machine.memory_bytes
    return demand.spill * job.size_bytes * max(0.0, 1 - available / needed) if needed else 0.0


def _no_room(job: Job, machine: Hardware, demand: Demand, nodes: int) -> str:
    """Reason why neither memory nor disks hold the data; empty if they do."""
    spilled = _spilled(job, machine, demand, nodes)
    if spilled and not machine.disks:
        needed = math.ceil(demand.memory * job.size_bytes / (USABLE * machine.memory_bytes))
        return f"no disk to spill to; {needed} nodes have the memory"
    if not machine.disks:
        return ""
    held = spilled + job.size_bytes * demand.writes
    held += 0.0 if machine.shared else job.size_bytes
    available = USABLE * nodes * machine.disks.count * machine.disks.size_bytes
    if held > available:
        return (
            f"{format_bytes_si(held)} do not fit on its disks ({format_bytes_si(available)} usable)"
        )
    return ""


def _error(job: Job, machine: Hardware, demand: Demand, nodes: int) -> float:
    """Relative standard deviation of all unknowns."""
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
