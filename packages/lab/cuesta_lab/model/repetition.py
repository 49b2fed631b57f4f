"""Several inputs of one size, and jobs of every month: their time, price and use of the nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cuesta.units import format_count
from cuesta_lab.model.choices import Choice, Job, Range, choice, node_counts
from cuesta_lab.model.demands import Demand
from cuesta_lab.model.machines import HOURS_A_YEAR, Hardware

MONTH_S = HOURS_A_YEAR / 12 * 3600
"""Seconds of a month, the twelfth part of a year."""
WATT_SECONDS_OF_KWH = 3.6e6


def choices(job: Job, machines: Sequence[Hardware], demands: Sequence[Demand]) -> Iterator[Choice]:
    """Yield the choices of all machines, numbers of nodes, and engines that can use them.

    An engine of one node can use several nodes for several inputs.
    """
    for machine in machines:
        for nodes in node_counts(machine):
            for demand in demands:
                if demand.many_nodes == (nodes > 1):
                    option = repeated(choice(job, machine, demand, nodes), job, machine, nodes)
                elif not demand.many_nodes and nodes <= job.inputs:
                    option = repeated(_side_by_side(job, machine, demand, nodes), job, machine, 1)
                else:
                    continue
                yield _with_energy(option, machine)


def _with_energy(option: Choice, machine: Hardware) -> Choice:
    """Add what the nodes draw while the job runs, where their power is known."""
    if option.seconds is None or machine.power is None:
        return option
    watts = option.nodes * machine.power.watts
    step = f"{format_count(option.nodes, 'node')} x {machine.power.watts:g} W = {watts:,.4g} W"
    energy = option.seconds.times(watts / WATT_SECONDS_OF_KWH)
    return replace(option, kilowatt_hours=energy, steps=(*option.steps, step))


def _side_by_side(job: Job, machine: Hardware, demand: Demand, nodes: int) -> Choice:
    """Return the choice of an engine of one node that has an input on each node."""
    shared = machine.shared
    if shared:
        part = replace(shared, read=shared.read / nodes, write=shared.write / nodes)
        machine = replace(machine, shared=part)
    each = choice(job, machine, demand, 1)
    dollars = each.dollars.times(nodes) if each.dollars else None
    return replace(
        each, nodes=nodes, cores=nodes * machine.cores, dollars=dollars,
        runs_per_dollar=dollars.inverse() if dollars else None,
    )  # fmt: skip


def repeated(option: Choice, job: Job, machine: Hardware | None, nodes_each: int) -> Choice:
    """Return the choice for all inputs of a job and for its jobs of a month.

    `nodes_each` are the nodes that one input takes; inputs are worked on side by side on as many
    nodes as there are, and else one after the other. A choice that is too slow for the jobs of a
    month is refused. Bought nodes are paid for by these jobs alone, busy or not.
    """
    if option.seconds is None:
        return option
    rounds = math.ceil(job.inputs / max(1, option.nodes // nodes_each))
    if rounds > 1:
        option = _in_rounds(option, rounds, job.inputs)
    if not job.jobs_per_month or option.seconds is None:
        return option
    busy = option.seconds.value * job.jobs_per_month / MONTH_S
    if busy > 1:
        most = math.floor(job.jobs_per_month / busy)
        return replace(
            option,
            refused=f"{job.jobs_per_month:g} jobs a month would take {busy:.3g} months of it;"
            f" it does {format_count(most, 'job')} a month",
            seconds=None, dollars=None, runs_per_dollar=None,
        )  # fmt: skip
    return replace(_paid_by_jobs(option, job, machine), busy=busy)


def _in_rounds(option: Choice, rounds: int, inputs: int) -> Choice:
    """Multiply time and price by the rounds that the inputs take."""
    assert option.seconds
    dollars = option.dollars.times(rounds) if option.dollars else None
    step = (
        f"{format_count(inputs, 'input')} in {format_count(rounds, 'round')}"
        f" of {option.seconds.value:,.4g} s = {option.seconds.value * rounds:,.4g} s"
    )
    return replace(
        option,
        seconds=option.seconds.times(rounds),
        dollars=dollars,
        runs_per_dollar=dollars.inverse() if dollars else None,
        steps=(*option.steps, step),
    )


def _paid_by_jobs(option: Choice, job: Job, machine: Hardware | None) -> Choice:
    """Price of a job on bought nodes that have no other jobs; as it was for rented ones."""
    if machine is None or machine.price is None or machine.price.node is None:
        return option
    month = machine.price.node * option.nodes / (job.years * 12)
    each = month / job.jobs_per_month
    dollars = Range(value=each, low=each, high=each)
    step = (
        f"{format_count(option.nodes, 'node')} at {month:,.4g} $ a month, by"
        f" {job.jobs_per_month:g} jobs = {each:,.4g} $ a job"
    )
    return replace(
        option, dollars=dollars, runs_per_dollar=dollars.inverse(), steps=(*option.steps, step)
    )
