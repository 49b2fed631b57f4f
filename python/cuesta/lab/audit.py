"""Verifies an answer folder that is there: unchanged since its run, and right by another method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from cuesta import untrusted
from cuesta.engines import HoldsSession, get_engine
from cuesta.errors import CuestaError, EngineMissing, InputError, VerificationError
from cuesta.lab import belief, fingerprint, inputs, names, record, remote, streams
from cuesta.lab.fingerprint import Fingerprint
from cuesta.lab.observer import Observer
from cuesta.lab.record import Record
from cuesta.lab.verify import Verification, strictly, verify
from cuesta.native import native_module
from cuesta.trial import Trial, is_remote

BESIDE_ANSWER = (record.FILE_NAME, f"{record.FILE_NAME}.sig", "assessment.json", "report.html")
"""What may be in an answer folder without being of the answer."""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What this machine gives to it, whatever machine the run had."""

    threads: int
    memory_bytes: int
    fetch_inputs: bool = False
    """Whether a person has asked for inputs to be read that are not of this machine."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What came of it: `unchanged` files have the checksums that the record has."""

    verification: Verification
    unchanged: int
    inputs_known: bool
    """Whether the record has a fingerprint of every input."""
    other_files: tuple[str, ...] = ()
    """Files of other commands beside the answer, which its record does not have."""


def audit(folder: Path, options: AuditOptions, scratch: Path, observer: Observer) -> Audit:
    """Verify the answer in `folder` and its record, by the threads and in the memory of `options`.

    First every file must have the checksum that the record has of it, then another method must
    find the same from the input, then digest and counts must be those of the record. Whatever the
    record says of its engine's options is not passed on.

    Errors: `VerificationError` naming what is wrong; `InputError` when something can't be read.
    """
    found = record.read(folder)
    belief.check_shape(found, folder)
    made = record.trial_of(found)
    belief.check_reach(made, may_fetch=options.fetch_inputs)
    trial = replace(made, threads=options.threads, memory_bytes=options.memory_bytes)
    untrusted.check_kinds(folder)
    observer.stage("reading the files")
    text = native_module().answer_checksums(
        folder, list(BESIDE_ANSWER), trial.threads, observer.progress
    )
    files = {one["name"]: one for one in json.loads(text)}
    unchanged = _hold_files(folder, found, files)
    observer.stage("verifying")
    readable = _readable(found, trial, scratch)
    try:
        verification = verify(readable, folder, scratch, progress=observer.progress)
    except CuestaError:
        _hold_inputs(found, readable, ())
        raise
    _hold_inputs(found, readable, verification.inputs)
    verification = remote.note_copies(verification, trial, readable)
    answer = found["answer"]
    verification = strictly(verification, files, [answer["counts"]])
    recorded = answer["digest"]
    if not verification.verified:
        told = f"; its record says {recorded}" if recorded else ""
        raise VerificationError(f"{folder}: {verification.fault}{told}")
    if recorded and verification.digest != recorded:
        raise VerificationError(
            f"{folder}: the files have digest {verification.digest}, their record says {recorded}"
        )
    known = all(map(fingerprint.is_known, found["inputs"]))
    other_files = tuple(name for name in BESIDE_ANSWER[1:] if (folder / name).exists())
    return Audit(
        verification=verification, unchanged=unchanged, inputs_known=known, other_files=other_files
    )


def _hold_inputs(fields: Record, readable: Trial, prints: Sequence[Fingerprint]) -> None:
    """Errors: `InputError` where an input has not the content that the record has of it."""
    rows = fields["inputs"]
    for row, path, fresh in zip_longest(rows, readable.inputs, prints):
        fingerprint.check(path, row, fresh)


def _hold_files(folder: Path, found: Record, files: Mapping[str, Mapping[str, object]]) -> int:
    """How many files have the checksum of the record. Errors: `VerificationError`."""
    recorded = {one["name"]: one for one in found["answer"]["files"]}
    for name in sorted(recorded.keys() | files.keys()):
        if name not in files:
            raise VerificationError(f"{folder / name}: is gone; the record has it")
        if name not in recorded:
            raise VerificationError(
                f"{folder / name}: is not of this answer, its record does not have it; move it away"
            )
        known = recorded[name].get("blake3")
        if known and known != files[name]["blake3"]:
            raise VerificationError(
                f"{folder / name}: has changed since the run; its BLAKE3 was {known}, it is "
                f"{files[name]['blake3']}"
            )
    return sum("blake3" in one for one in recorded.values())


def _readable(found: Record, trial: Trial, scratch: Path) -> Trial:
    """The trial with copies of those inputs that are no files of this machine.

    Errors: `InputError` where an input is not of the size that it had, or genes have other names.
    """
    if found.get("names"):
        names.hold(found["names"])
    if any(map(is_remote, trial.inputs)):
        # The store of this machine needs no client of another engine.
        engine = get_engine(trial.engine if any(belief.remote_places(trial)) else "native")
        lacking = engine.missing()
        if lacking:
            raise EngineMissing(lacking)
        try:
            facts = remote.describe(engine, trial, scratch)
            _hold_sizes(found, [one.bytes for one in facts])
            return remote.with_copies(engine, trial, facts, scratch)
        finally:
            if isinstance(engine, HoldsSession):
                engine.close()
    streams.refuse(trial, "it cannot be read again; the answer was verified when it was made")
    _hold_sizes(found, [inputs.describe(path).bytes for path in trial.inputs])
    return trial


def _hold_sizes(fields: Record, sizes: Sequence[int]) -> None:
    """Errors: `InputError` where an input has not the size that it had."""
    for row, size_bytes in zip(fields["inputs"], sizes, strict=True):
        if size_bytes != row["bytes"]:
            raise InputError(
                f"{row['path']}: the input changed; it has {size_bytes:,} bytes, it had "
                f"{row['bytes']:,} when the answer was made; verify with that input"
            )
