"""Fingerprints of inputs, of the bytes that the verification read, for the record.

The verification reads the inputs in this process, whichever engine computed the answer, so its
readers make the fingerprint without another read. It covers exactly the bytes by which the answer
was verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from cuesta.errors import InputError
from cuesta.lab.inputs import InputFacts
from cuesta.native import native_module

WHOLE = "whole"
"""Fingerprint of all bytes of the input."""
READ = "read"
"""Fingerprint of the bytes that the verification needed, e.g. some chunks of a pair matrix."""
CONVERTED = "converted"
"""Fingerprint of all bytes of a converted copy of the input, which the kernels read."""
NONE = "none"
"""No fingerprint: the answer was not verified, or only in part."""


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Fingerprint of an input: the hash `sum` of `bytes` bytes in `files` files."""

    kind: str = NONE
    bytes: int = 0
    files: int = 0
    sum: str | None = None


@dataclass(kw_only=True)
class Watched:
    """Fingerprints of the inputs, in their order, once the watch has ended."""

    fingerprints: tuple[Fingerprint, ...] = ()


@contextmanager
def watching(inputs: Sequence[str], readable: Sequence[Sequence[str]]) -> Iterator[Watched]:
    """Watch the reads by this process of `readable`: each of the `inputs`, or its copies."""
    watched = Watched()
    watch = native_module().InputWatch([path for paths in readable for path in paths])
    yield watched
    rows = iter(json.loads(watch.fingerprints()))
    watched.fingerprints = tuple(
        _joined([next(rows) for _ in paths], READ if list(paths) == [was] else CONVERTED)
        for was, paths in zip(inputs, readable, strict=True)
    )


def now(path: str) -> Fingerprint:
    """Read all bytes of an input and return its fingerprint. Errors: `InputError`."""
    watch = native_module().InputWatch([path])
    watch.complete()
    return _fingerprint(json.loads(watch.fingerprints())[0], WHOLE)


def recorded(facts: Sequence[InputFacts], fresh: Sequence[Fingerprint]) -> list[dict[str, Any]]:
    """Rows of the inputs in a record: sizes, and fingerprints where they exist."""
    padded = [*fresh, *[Fingerprint()] * (len(facts) - len(fresh))]
    return [
        asdict(row) | {"fingerprint": asdict(_named(fingerprint, row))}
        for row, fingerprint in zip(facts, padded, strict=True)
    ]


def check(path: str, row: Mapping[str, Any], fresh: Fingerprint | None) -> None:
    """Compare an input with its row of a record; `fresh` is the fingerprint by a verification now.

    Without `fresh`, as after a failed verification, all bytes are read if the record's fingerprint
    covers all of them. Errors: `InputError` if the input has changed.
    """
    known = row.get("fingerprint")
    if not isinstance(known, dict) or not known.get("sum"):
        return
    kind, size_bytes = known.get("kind"), known.get("bytes")
    if kind == WHOLE and (fresh is None or fresh.bytes != size_bytes):
        fresh = now(path)
    if fresh is None or fresh.sum is None or fresh.kind == NONE:
        return
    if kind != WHOLE and fresh.bytes != size_bytes:
        return  # Other parts were read, so a different sum proves nothing.
    if fresh.sum != known["sum"]:
        raise InputError(
            f"{path}: the input changed; its content has the fingerprint {fresh.sum}, it was "
            f"{known['sum']} when the answer was made; verify with that input"
        )


def is_known(row: Mapping[str, Any]) -> bool:
    """Whether the record of an input has a fingerprint of its content."""
    known = row.get("fingerprint")
    return isinstance(known, dict) and bool(known.get("sum"))


def _named(fresh: Fingerprint, facts: InputFacts) -> Fingerprint:
    """Set the kind of a fingerprint to `WHOLE` if it covers all bytes of the input."""
    if fresh.sum is None:
        return Fingerprint()
    if fresh.kind == READ and fresh.bytes == facts.bytes:
        return replace(fresh, kind=WHOLE)
    return fresh


def _joined(rows: Sequence[Mapping[str, Any]], kind: str) -> Fingerprint:
    """Join the fingerprints of the files of one input, in their order."""
    if len(rows) == 1:
        return _fingerprint(rows[0], kind)
    import hashlib

    sums = [row["sum"] for row in rows]
    joined = hashlib.blake2b("".join(sums).encode(), digest_size=16) if all(sums) else None
    return Fingerprint(
        kind=kind if joined else NONE,
        bytes=sum(row["bytes"] for row in rows),
        files=sum(row["files"] for row in rows),
        sum=joined.hexdigest() if joined else None,
    )


def _fingerprint(row: Mapping[str, Any], kind: str) -> Fingerprint:
    return Fingerprint(
        kind=kind if row["sum"] else NONE, bytes=row["bytes"], files=row["files"], sum=row["sum"]
    )
