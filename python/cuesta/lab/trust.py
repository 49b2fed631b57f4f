"""Check of a record from elsewhere: it starts no code and fetches nothing without permission.

A record names an engine and its options, inputs, a file of names. Of these only files and folders
of this machine are read. A user who trusts the record may allow remote inputs, which this machine's
clients read.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cuesta.engines import get_engine
from cuesta.errors import InputError
from cuesta.lab.verify import LEVELS, NONE
from cuesta.trial import STANDARD_INPUT, Trial, is_remote, is_stored
from cuesta.workloads import get_workload

FETCH_OPTION = "--fetch-inputs"
_COUNTS_MAX = 1 << 64


def check_shape(fields: Mapping[str, Any], source: Path) -> None:
    """Raise `InputError` for a record that lacks fields which the verification reads."""
    fault = next(_faults(fields), None) or next(_faults_of_trial(fields), None)
    if fault:
        raise InputError(
            f"{source}: not a whole record of a run: {fault}; take run.json as the run wrote "
            "it, or run again"
        )


def check_reach(trial: Trial, *, may_fetch: bool) -> None:
    """Raise `InputError` for a place in a record that is remote, or no file or folder.

    Arguments: `may_fetch` is whether the user allows reading remote inputs.
    """
    away = list(remote_places(trial))
    if away and not may_fetch:
        raise InputError(
            f"its record names inputs elsewhere: {', '.join(away)}; reading them connects this "
            "machine, with your credentials, to places that whoever wrote the record chose; where "
            f"you trust them, add {FETCH_OPTION}"
        )
    for path in _local_places(trial):
        try:
            mode = Path(path).stat().st_mode
        except (OSError, ValueError):
            continue  # The reader of the path reports it.
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"{path}: is neither a file nor a folder; a record may not name it")


def remote_places(trial: Trial) -> Iterator[str]:
    """Yield the URIs of a trial: inputs, names of genes, and values of parameters.

    Paths in the store of this machine are excluded: the store belongs to this user.
    """
    named = (*trial.inputs, trial.names, *trial.parameters.values())
    texts = (place for place in named if isinstance(place, str))
    yield from (place for place in texts if is_remote(place) and not is_stored(place))


def _local_places(trial: Trial) -> Iterator[str]:
    named = (*trial.inputs, trial.names)
    yield from (
        place for place in named if place and place != STANDARD_INPUT and not is_remote(place)
    )


def _faults(fields: Mapping[str, Any]) -> Iterator[str]:
    for name in ("workload", "engine"):
        if not isinstance(fields.get(name), str):
            yield f"{name} is no word"
    if not isinstance(fields.get("sample", ""), str):
        yield "sample is no word"
    for name in ("threads", "memory_bytes", "seed"):
        value = fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _COUNTS_MAX:
            yield f"{name} is no number, or below 0"
    if not isinstance(fields.get("parameters"), dict):
        yield "parameters are no object"
    names = fields.get("names")
    if names is not None and not _has(names, {"path": str, "sha256": str}):
        yield "names are no names of genes"
    inputs = fields.get("inputs")
    if not isinstance(inputs, list) or not all(_has(row, {"path": str}) for row in inputs):
        yield "inputs are no list of inputs"
    elif not all(_is_count(row.get("bytes")) for row in inputs):
        yield "the bytes of an input are no number"
    yield from _faults_of_answer(fields.get("answer"))
    yield from _faults_of_verification(fields)


def _faults_of_trial(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of names and parameters, in a record whose fields have the right types."""
    try:
        workload = get_workload(fields["workload"])
        get_engine(fields["engine"])
    except InputError as error:
        yield str(error)
        return
    count, least, most = len(fields["inputs"]), workload.inputs_minimum, workload.inputs_maximum
    if count < least or (most is not None and count > most):
        yield f"{workload.name} does not read {count} inputs"
    known = {parameter.name: parameter for parameter in workload.parameters}
    for name, value in fields["parameters"].items():
        if name not in known:
            yield f"{workload.name} has no parameter {name!r}"
        elif not known[name].holds(value):
            yield f"{name} is {value!r:.80}, which is not {known[name].range}"


def _faults_of_answer(answer: object) -> Iterator[str]:
    if not isinstance(answer, dict):
        yield "answer is no object"
        return
    counts = answer.get("counts")
    if not isinstance(counts, dict) or not all(map(_is_count, counts.values())):
        yield "the counts of the answer are no numbers"
    files = answer.get("files")
    if not isinstance(files, list) or not all(_has(row, {"name": str}) for row in files):
        yield "the files of the answer are no list of files"
    elif not all(_is_count(row.get("bytes")) for row in files):
        yield "the bytes of a file of the answer are no number"
    elif not all(_is_hexadecimal(row["blake3"], 64) for row in files if "blake3" in row):
        yield "the blake3 of a file of the answer has not 64 hexadecimal digits"


def _faults_of_verification(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions between the answer and its verification.

    Records from before there were levels of verification may lack checksums of files.
    """
    answer, verification = fields.get("answer"), fields.get("verification")
    if not isinstance(verification, dict) or not isinstance(answer, dict):
        yield "verification is no object"
        return
    level = verification.get("level")
    if level not in (*LEVELS, None):
        yield f"the level of verification is none of {', '.join(LEVELS)}"
    if level and not all("blake3" in row for row in answer["files"]):
        yield "a file of the answer has no blake3"
    verified = fields.get("verified")
    if not isinstance(verified, bool | None):
        yield "verified is neither true, false nor null"
    if level and (verified is None) is not (level == NONE):
        yield f"verified does not fit verification.level, which is {level}"
    digests = {
        "answer.digest": answer.get("digest"),
        "verification.expected": verification.get("expected"),
    }
    for name, digest in digests.items():
        if not (_is_hexadecimal(digest, 32) or (digest is None and verified is None)):
            yield f"{name} has not 32 hexadecimal digits"


def _has(value: object, kinds: Mapping[str, type]) -> bool:
    """Whether a value is an object with members of these kinds."""
    return isinstance(value, dict) and all(
        isinstance(value.get(name), kind) for name, kind in kinds.items()
    )


def _is_hexadecimal(value: object, digits: int) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(rf"[0-9a-f]{{{digits}}}", value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _COUNTS_MAX
