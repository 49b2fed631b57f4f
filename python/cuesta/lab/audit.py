"""Verification of an existing answer folder: unchanged since its run, right by another method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from cuesta import untrusted
from cuesta.engines import get_engine
from cuesta.errors import CuestaError, EngineMissing, InputError, VerificationError
from cuesta.lab import fingerprint, inputs, names, record, remote, streams, trust
from cuesta.lab.fingerprint import Fingerprint
from cuesta.lab.observer import Observer
from cuesta.lab.record import Record
from cuesta.lab.verify import Verification, strictly, verify, with_derived
from cuesta.native import native_module
from cuesta.trial import Trial, is_remote

BESIDE_ANSWER = (record.FILE_NAME, f"{record.FILE_NAME}.sig", "assessment.json", "report.html")
"""Files that may be in an answer folder without being part of the answer."""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Resources of this machine for an audit, whatever the run had."""

    threads: int
    memory_bytes: int
    fetch_inputs: bool = False
    """Whether the user allows reading inputs that are not on this machine."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Result of an audit: the number of `unchanged` files has the checksums of the record."""

    verification: Verification
    unchanged: int
    inputs_known: bool
    """Whether the record has fingerprints of all inputs."""
    other_files: tuple[str, ...] = ()
    """Files of other commands in the folder, which the record of the answer omits."""
    unproven_counts: tuple[str, ...] = ()
    """Counts of the record that the verification does not have, by their names."""


def audit(folder: Path, options: AuditOptions, scratch: Path, observer: Observer) -> Audit:
    """Verify the answer in `folder` and its record, with the threads and memory of `options`.

    First the files must have the checksums of the record, then another method must compute the same
    answer from the input, then digest, and the counts that the verification has, must be those of
    the record. The record's engine options are ignored.

    Errors: `VerificationError` with the fault; `InputError` if something cannot be read.
    """
    fields = record.read(folder)
    trust.check_shape(fields, folder)
    made = record.trial_of(fields)
    trust.check_reach(made, may_fetch=options.fetch_inputs)
    trial = replace(made, threads=options.threads, memory_bytes=options.memory_bytes)
    untrusted.check_kinds(folder)
    observer.stage("reading the files")
    text = native_module().answer_checksums(
        folder, list(BESIDE_ANSWER), trial.threads, observer.progress
    )
    files = {entry["name"]: entry for entry in json.loads(text)}
    unchanged = check_files(folder, fields, files)
    observer.stage("verifying")
    readable = _readable(fields, trial, scratch)
    try:
        verification = verify(readable, folder, scratch, progress=observer.progress)
    except CuestaError:
        _check_inputs(fields, readable, ())
        raise
    _check_inputs(fields, readable, verification.inputs)
    verification = remote.note_copies(verification, trial, readable)
    verification = with_derived(verification, trial, folder, fields.get("sample", ""))
    answer = fields["answer"]
    verification = strictly(verification, files, [answer["counts"]])
    recorded = answer["digest"]
    if not verification.verified:
        suffix = f"; its record says {recorded}" if recorded else ""
        raise VerificationError(f"{folder}: {verification.fault}{suffix}")
    if recorded and verification.digest != recorded:
        raise VerificationError(
            f"{folder}: the files have digest {verification.digest}, their record says {recorded}"
        )
    expected = fields["verification"]["expected"]
    if fields["verified"] and expected != recorded:
        raise VerificationError(
            f"{folder}: its record contradicts itself: it is verified, with digest {recorded}, and "
            f"verification.expected is {expected}; trust none of it"
        )
    known = all(map(fingerprint.is_known, fields["inputs"]))
    other_files = tuple(name for name in BESIDE_ANSWER[1:] if (folder / name).exists())
    unproven_counts = tuple(name for name in answer["counts"] if name not in verification.counts)
    return Audit(
        verification=verification,
        unchanged=unchanged,
        inputs_known=known,
        other_files=other_files,
        unproven_counts=unproven_counts,
    )


def _check_inputs(fields: Record, readable: Trial, prints: Sequence[Fingerprint]) -> None:
    """Raise `InputError` for an input whose content differs from the record."""
    rows = fields["inputs"]
    for row, path, fresh in zip_longest(rows, readable.inputs, prints):
        fingerprint.check(path, row, fresh)


def check_files(folder: Path, fields: Record, files: Mapping[str, Mapping[str, object]]) -> int:
    """Count the files with the checksum of the record. Errors: `VerificationError`."""
    recorded = {entry["name"]: entry for entry in fields["answer"]["files"]}
    for name in sorted(recorded.keys() | files.keys()):
        if name not in files:
            raise VerificationError(f"{folder / name}: is gone; the record has it")
        if name not in recorded:
            raise VerificationError(
                f"{folder / name}: is not of this answer, its record does not have it; move it away"
            )
        size_bytes = recorded[name]["bytes"]
        if size_bytes != files[name]["bytes"]:
            raise VerificationError(
                f"{folder / name}: has changed since the run; it had {size_bytes:,} bytes, it has "
                f"{files[name]['bytes']:,}"
            )
        known = recorded[name].get("blake3")
        if known and known != files[name]["blake3"]:
            raise VerificationError(
                f"{folder / name}: has changed since the run; its BLAKE3 was {known}, it is "
                f"{files[name]['blake3']}"
            )
    return sum("blake3" in entry for entry in recorded.values())


def _readable(fields: Record, trial: Trial, scratch: Path) -> Trial:
    """Return the trial with copies of those inputs that are not on this machine.

    Errors: `InputError` if an input changed its size, or genes have other names.
    """
    if fields.get("names"):
        names.check(fields["names"])
    if any(map(is_remote, trial.inputs)):
        # The store of this machine needs no client of another engine.
        engine = get_engine(trial.engine if any(trust.remote_places(trial)) else "native")
        lacking = engine.missing()
        if lacking:
            raise EngineMissing(lacking)
        try:
            facts = remote.describe(engine, trial, scratch)
            _check_sizes(fields, [fact.bytes for fact in facts])
            return remote.with_copies(engine, trial, facts, scratch)
        finally:
            engine.close()
    streams.refuse(trial, "it cannot be read again; the answer was verified when it was made")
    _check_sizes(fields, [inputs.describe(path).bytes for path in trial.inputs])
    return trial


def _check_sizes(fields: Record, sizes: Sequence[int]) -> None:
    """Raise `InputError` for an input whose size differs from the record."""
    for row, size_bytes in zip(fields["inputs"], sizes, strict=True):
        if size_bytes != row["bytes"]:
            raise InputError(
                f"{row['path']}: the input changed; it has {size_bytes:,} bytes, it had "
                f"{row['bytes']:,} when the answer was made; verify with that input"
            )
