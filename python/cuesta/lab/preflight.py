"""Estimate of the resources of a run before it begins, with warnings of shortages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cuesta import machine
from cuesta.errors import InputError
from cuesta.lab.inputs import InputFacts
from cuesta.trial import Trial
from cuesta.units import format_bytes, format_seconds
from cuesta.workloads import get_workload

DISK_LEAST_BYTES = 1 << 20
"""Free bytes below which a disk counts as full."""

_READ_CEILING = "file_read_warm_bytes_per_s"


class Estimate(NamedTuple):
    """Needed and available resources of a run.

    `seconds_least` is the time to read the input at the measured ceiling, None without a ceiling.
    `seconds_about` is the time of the work on other machines, if known. `spill_bytes_most` is an
    upper bound of the bytes in the scratch folder. `checkpoints` are an upper bound of the bytes in
    the folder for checkpoints, and the free bytes there.
    """

    read_bytes: int
    files: int
    memory_limit_bytes: int
    memory_available_bytes: int
    spill_bytes_most: int
    output_free_bytes: int
    scratch_free_bytes: int
    seconds_least: float | None
    seconds_about: float | None = None
    checkpoints: tuple[int, int] | None = None


def estimate(
    trial: Trial,
    facts: tuple[InputFacts, ...],
    output: Path,
    scratch: Path,
    ceilings: Mapping[str, float] | None,
) -> Estimate:
    """Estimate the resources from the input's size and the machine; reads no data."""
    read_bytes = sum(fact.bytes for fact in facts)
    rate = (ceilings or {}).get(_READ_CEILING)
    files = [(fact.path, fact.bytes) for fact in facts]
    needs = get_workload(trial.workload).needs(trial, files)
    folder = needs.checkpoints
    checkpoints = (needs.temporary_bytes, machine.free_bytes(folder)) if folder else None
    spill_bytes_most = 0 if folder else needs.temporary_bytes
    seconds_about = needs.seconds
    return Estimate(
        read_bytes=read_bytes,
        files=sum(fact.files for fact in facts),
        memory_limit_bytes=trial.memory_bytes,
        memory_available_bytes=machine.memory_available_bytes(),
        spill_bytes_most=spill_bytes_most,
        output_free_bytes=machine.free_bytes(output),
        scratch_free_bytes=machine.free_bytes(scratch),
        seconds_least=read_bytes / rate if rate else None,
        seconds_about=seconds_about,
        checkpoints=checkpoints,
    )


def check(needs: Estimate, output: Path, scratch: Path) -> None:
    """Raise `InputError` if a disk is full already, or a place is on none."""
    places = ((output, needs.output_free_bytes), (scratch, needs.scratch_free_bytes))
    for place, free_bytes in places:
        if not free_bytes and not machine.keeps_files(place):
            raise InputError(
                f"{place}: not a place to write to ({machine.filesystem(place)} holds no files of "
                "users); choose another folder"
            )
        if free_bytes < DISK_LEAST_BYTES:
            raise InputError(
                f"{place}: the disk is full ({format_bytes(free_bytes)} free); free some space or "
                "choose another folder"
            )


def sentences(needs: Estimate) -> Iterator[str]:
    """Yield the estimate in sentences for the user, warnings last."""
    files = "1 file" if needs.files == 1 else f"{needs.files:,} files"
    least = needs.seconds_least
    soonest = "" if least is None else f", {format_seconds(least)} at this machine's ceiling"
    if needs.files:
        yield f"to read: {format_bytes(needs.read_bytes)} in {files}{soonest}"
    yield (
        f"memory: at most {format_bytes(needs.memory_limit_bytes)}, "
        f"{format_bytes(needs.memory_available_bytes)} available; disk: "
        f"{format_bytes(needs.output_free_bytes)} free at the output"
    )
    if needs.seconds_about is not None:
        yield f"the work may take about {format_seconds(needs.seconds_about)}, and be verified then"
    if needs.spill_bytes_most:
        yield (
            f"may spill up to {format_bytes(needs.spill_bytes_most)} to scratch, "
            f"{format_bytes(needs.scratch_free_bytes)} free there"
        )
    if needs.checkpoints is not None:
        most, free = needs.checkpoints
        yield f"keeps up to {format_bytes(most)} to go on from, {format_bytes(free)} free there"
        if most > free:
            yield "warning: the folder of --resume may become full; choose another"
    if needs.memory_limit_bytes > needs.memory_available_bytes:
        yield "warning: the memory limit is more than is available now"
    if needs.spill_bytes_most > needs.scratch_free_bytes:
        yield "warning: scratch may become full; choose another with --scratch"
