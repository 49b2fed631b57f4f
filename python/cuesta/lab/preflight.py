"""What a run will need, told before it begins, and what can be seen to be too little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cuesta import machine
from cuesta.errors import InputError
from cuesta.lab.inputs import InputFacts
from cuesta.trial import Trial
from cuesta.units import format_bytes, format_seconds
from cuesta.workloads import get_workload

DISK_LEAST_BYTES = 1 << 20
"""A disk with less than this free is full."""

_READ_CEILING = "file_read_warm_bytes_per_s"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run will need and what there is.

    `seconds_least` is the time that reading the input takes at the measured ceiling; None when no
    ceiling is known, `seconds_about` what the work has taken elsewhere, where that is known.
    `spill_bytes_most` is an upper bound of what goes to the scratch folder, `kept` one of what goes
    to a folder that keeps stages, with what is free there.
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
    kept: tuple[int, int] | None = None


def estimate(
    trial: Trial,
    facts: tuple[InputFacts, ...],
    output: Path,
    scratch: Path,
    ceilings: Mapping[str, float] | None,
) -> Estimate:
    """Look at the input and the machine; reads no data."""
    read_bytes = sum(one.bytes for one in facts)
    rate = (ceilings or {}).get(_READ_CEILING)
    files = [(one.path, one.bytes) for one in facts]
    needs = get_workload(trial.workload).needs(trial, files)
    folder = needs.checkpoints
    kept = (needs.temporary_bytes, machine.free_bytes(folder)) if folder else None
    spill_bytes_most = 0 if folder else needs.temporary_bytes
    seconds_about = needs.seconds
    return Estimate(
        read_bytes=read_bytes,
        files=sum(one.files for one in facts),
        memory_limit_bytes=trial.memory_bytes,
        memory_available_bytes=machine.memory_available_bytes(),
        spill_bytes_most=spill_bytes_most,
        output_free_bytes=machine.free_bytes(output),
        scratch_free_bytes=machine.free_bytes(scratch),
        seconds_least=read_bytes / rate if rate else None,
        seconds_about=seconds_about,
        kept=kept,
    )


def check(found: Estimate, output: Path, scratch: Path) -> None:
    """Errors: `InputError` when a disk is full already, or a place is on none."""
    places = ((output, found.output_free_bytes), (scratch, found.scratch_free_bytes))
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


def sentences(found: Estimate) -> Iterator[str]:
    """The estimate for a person, warnings last."""
    files = "1 file" if found.files == 1 else f"{found.files:,} files"
    least = found.seconds_least
    soonest = "" if least is None else f", {format_seconds(least)} at this machine's ceiling"
    if found.files:
        yield f"to read: {format_bytes(found.read_bytes)} in {files}{soonest}"
    yield (
        f"memory: at most {format_bytes(found.memory_limit_bytes)}, "
        f"{format_bytes(found.memory_available_bytes)} available; disk: "
        f"{format_bytes(found.output_free_bytes)} free at the output"
    )
    if found.seconds_about is not None:
        yield f"the work may take about {format_seconds(found.seconds_about)}, and be verified then"
    if found.spill_bytes_most:
        yield (
            f"may spill up to {format_bytes(found.spill_bytes_most)} to scratch, "
            f"{format_bytes(found.scratch_free_bytes)} free there"
        )
    if found.kept is not None:
        most, free = found.kept
        yield f"keeps up to {format_bytes(most)} to go on from, {format_bytes(free)} free there"
        if most > free:
            yield "warning: the folder of --resume may become full; choose another"
    if found.memory_limit_bytes > found.memory_available_bytes:
        yield "warning: the memory limit is more than is available now"
    if found.spill_bytes_most > found.scratch_free_bytes:
        yield "warning: scratch may become full; choose another with --scratch"
