"""Answers of samples that are there already: whether the same command would make them again."""

from __future__ import annotations

import calendar
import json
import time
from collections.abc import Iterator
from pathlib import Path

from cuesta import __version__
from cuesta.errors import CuestaError, InputError
from cuesta.lab import audit, fingerprint, record, trust
from cuesta.lab.record import Record
from cuesta.native import native_module
from cuesta.trial import Trial


def difference(folder: Path, trial: Trial, level: str, threads: int) -> str:
    """Return in words why the answer in `folder` is not that of `trial`; empty where it is.

    Arguments: `level` is that of the verification. Inputs must have the recorded sizes and be older
    than the run, or else the recorded fingerprint. Errors: `InputError` for a folder that is no
    answer, or whose files have not the recorded checksums: nothing replaces it.
    """
    try:
        fields = record.read(folder)
        trust.check_shape(fields, folder)
        words = next(_differences(fields, folder, trial, level), "")
        if not words:
            _check_files(fields, folder, threads)
    except CuestaError as error:
        raise InputError(f"{error}; move {folder} away, or give another -o") from None
    return words


def _differences(fields: Record, folder: Path, trial: Trial, level: str) -> Iterator[str]:
    if fields["workload"] != trial.workload:
        yield f"it is an answer of {fields['workload']}"
    if fields.get("sample") != folder.name:
        yield f"it was made as {fields.get('sample') or 'an answer without a name'}"
    version = (fields.get("versions") or {}).get("cuesta")
    if version != __version__:
        yield f"version {version} made it, this is {__version__}"
    if (fields.get("verification") or {}).get("level") != level:
        yield f"it was not made with --verify {level}"
    for name, value in trial.parameters.items():
        if fields["parameters"].get(name) != value:
            yield f"{name} was {fields['parameters'].get(name)}, it is {value}"
    yield from _other_inputs(fields, trial)


def _other_inputs(fields: Record, trial: Trial) -> Iterator[str]:
    recorded = [row["path"] for row in fields["inputs"]]
    if recorded != list(trial.inputs):
        yield f"it is of other reads, {', '.join(recorded)}"
    started = _seconds(str(fields.get("started")))
    for row in fields["inputs"]:
        facts = Path(row["path"]).stat()
        if facts.st_size != row["bytes"]:
            yield f"{row['path']} had {row['bytes']:,} bytes, it has {facts.st_size:,}"
        elif facts.st_mtime >= started and not _is_same(row):
            yield f"{row['path']} has changed since"


def _is_same(row: Record) -> bool:
    """Whether an input that was written since has the content of the record."""
    if not fingerprint.is_known(row):
        return False
    try:
        fingerprint.check(row["path"], row, None)
    except InputError:
        return False
    return bool(row["fingerprint"].get("kind") == fingerprint.WHOLE)


def _seconds(started: str) -> float:
    """Return a time of a record in seconds since 1970; 0 where it is none."""
    try:
        return float(calendar.timegm(time.strptime(started, "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return 0.0


def _check_files(fields: Record, folder: Path, threads: int) -> None:
    """Raise `VerificationError` for files that are not as the run left them."""
    text = native_module().answer_checksums(folder, list(audit.BESIDE_ANSWER), threads)
    files = {entry["name"]: entry for entry in json.loads(text)}
    audit.check_files(folder, fields, files)
