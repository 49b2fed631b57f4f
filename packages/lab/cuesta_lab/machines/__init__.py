"""Factors of the machine that a trial is held to: memory, disks, links, huge pages, cores.

    with machines.apply({"disk-rate": "50MB/s"}, Place(folder=here, inputs=inputs)) as place:
        run_in_child(name, lambda: (place.enter(), work(place.inputs)))

Whatever ends the trial, all changes are undone in reverse order; the changes of a killed process
are undone by the next process that applies factors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from cuesta.errors import EngineError, InputError
from cuesta.lab.child import DeferredSignals
from cuesta_lab.machines import disks, groups, links, memory
from cuesta_lab.machines.factors import NAMES, OF_LINKS, Factor, MachineFactors, parse
from cuesta_lab.machines.journal import LEFT, Journal, Undo
from cuesta_lab.machines.place import Node, Place

__all__ = [
    "NAMES",
    "OF_LINKS",
    "Factor",
    "Node",
    "Place",
    "apply",
    "holds_a_trial_alone",
    "parse",
    "put_back",
    "refusal",
    "sweep",
]

_UNDO: Mapping[str, Undo] = {
    groups.GROUP: groups.undo_group,
    groups.RATE: groups.undo_rate,
    disks.FOLDER: disks.undo_folder,
    disks.LOOP: disks.undo_loop,
    # Without its mount the server of the file behind a disk ends.
    disks.SEEK: disks.undo_mount,
    disks.MOUNT: disks.undo_mount,
    disks.DIRTY: disks.undo_dirty,
    links.NAMESPACE: links.undo_namespace,
    links.BRIDGE: links.undo_bridge,
    memory.HUGE_PAGES: memory.undo_pages,
    memory.ZRAM: memory.undo_zram,
}


def refusal(machine: Mapping[str, object]) -> str | None:
    """Reason why this machine cannot hold a trial to `machine`, in one line, or None.

    Errors: `InputError` for an unknown factor, unit or value.
    """
    factors = parse(machine)
    if machine and os.geteuid() != 0:
        return f"machine factor {min(machine)} needs root"
    return next(_refusals(factors), None)


@contextmanager
def apply(machine: Mapping[str, object], place: Place) -> Iterator[Place]:
    """Apply factors to a place until the end; a process that runs in it calls `Place.enter` first.

    Processes that still run in its groups and networks at the end are killed. Calls cannot nest in
    a process. Errors: `InputError` if this machine cannot apply the factors, or misses a rate by
    far; `EngineError` if a change could not be undone.
    """
    why = refusal(machine)
    if why:
        raise InputError(why)
    # A trial without factors, too, would be held to leftover factors of another.
    put_back()
    if not machine:
        yield place
        return
    journal = Journal(_UNDO)
    try:
        yield _made(journal, parse(machine), place)
    finally:
        held = DeferredSignals()
        with held:
            journal.undo()
        held.deliver()


def put_back() -> None:
    """Undo the changes of killed processes, if this process has the rights.

    Errors: `EngineError` if a change remains.
    """
    if os.geteuid() == 0:
        failures = [sentence for sentence in sweep() if LEFT in sentence]
        if failures:
            raise EngineError(failures[0])


def limits_trial_disks_only() -> bool:
    """Whether disk rates limit only the trial's group, as in version 2 of control groups."""
    return groups.second()


def sweep() -> Iterator[str]:
    """Undo the changes of killed processes; yield a sentence about each process."""
    yield from Journal(_UNDO).sweep()


def _refusals(factors: MachineFactors) -> Iterator[str]:
    reasons = [
        groups.refusal("memory-group") if factors.memory_bytes is not None else None,
        groups.refusal("cpu-quota") if factors.cores is not None else None,
        disks.refusal(factors) if factors.disks else None,
        memory.refusal_of_pages() if factors.huge_pages else None,
        memory.refusal_of_zram() if factors.zram_bytes else None,
        links.refusal(factors) if factors.link_nodes else None,
    ]
    yield from (why for why in reasons if why)


def _made(journal: Journal, factors: MachineFactors, place: Place) -> Place:
    if factors.huge_pages:
        memory.choose_pages(journal, factors.huge_pages)
    if factors.zram_bytes:
        memory.add_zram(journal, factors.zram_bytes)
    if factors.disks:
        place = disks.make(journal, factors, place)
    # After the disks, so that processes that use them are killed before they are unmounted.
    several = range(max(1, factors.link_nodes))
    nodes = tuple(Node(groups=groups.make(journal, factors, index)) for index in several)
    place = replace(place, nodes=nodes)
    if factors.link_nodes:
        place = links.make(journal, factors, place)
    return disks.hold(journal, factors, place) if factors.disks else place
