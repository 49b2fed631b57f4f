"""Fingerprints of inputs: of the bytes that their verification read, kept in the record.

The verification reads the inputs in this process, whichever engine computed the answer, so its
readers make the fingerprint at no reading of its own. It is of the very bytes by which the answer
was fresh right.
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
"""Every byte of the input."""
READ = "read"
"""The bytes that the verification had to read, such as some chunks of a pair matrix."""
CONVERTED = "converted"
"""Every byte of a copy in a form that kernels read, which was made of the input."""
NONE = "none"
"""Nobody looked: the answer was not verified, or only in part."""


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """The content of an input: the `sum` of so many `bytes` in so many `files`."""

    kind: str = NONE
    bytes: int = 0
    files: int = 0
    sum: str | None = None


@dataclass(kw_only=True)
class Watched:
    """Fingerprints of the inputs, in their order, once the watch has ended."""

    fingerprints: tuple[Fingerprint, ...] = ()


@contextmanager
def watching(inputs: Sequence[str], readable: Sequence[str]) -> Iterator[Watched]:
    """Watch what this process reads of `readable`, the `inputs` themselves or copies."""
    watched = Watched()
    watch = native_module().InputWatch(list(readable))
    yield watched
    watched.fingerprints = tuple(
        _fingerprint(row, READ if was == path else CONVERTED)
        for row, was, path in zip(json.loads(watch.fingerprints()), inputs, readable, strict=True)
    )


def now(path: str) -> Fingerprint:
    """The fingerprint of all bytes of an input, which are read for it. Errors: `InputError`."""
    watch = native_module().InputWatch([path])
    watch.complete()
    return _fingerprint(json.loads(watch.fingerprints())[0], WHOLE)


def recorded(facts: Sequence[InputFacts], fresh: Sequence[Fingerprint]) -> list[dict[str, Any]]:
    """The inputs as a record has them: sizes, and the fingerprint of each that has one."""
    padded = [*fresh, *[Fingerprint()] * (len(facts) - len(fresh))]
    return [
        asdict(row) | {"fingerprint": asdict(_named(fingerprint, row))}
        for row, fingerprint in zip(facts, padded, strict=True)
    ]


def check(path: str, row: Mapping[str, Any], fresh: Fingerprint | None) -> None:
    """Hold an input against its row of a record; `fresh` is what a verification read of it now.

    Without `fresh`, as after a verification that failed, all bytes are read where the record's
    fingerprint is of all of them. Errors: `InputError` where the input is another one now.
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
        return  # Other parts were read: nothing follows from another sum.
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
    """The fingerprint with the kind that follows from what was read of an input of this size."""
    if fresh.sum is None:
        return Fingerprint()
    if fresh.kind == READ and fresh.bytes == facts.bytes:
        return replace(fresh, kind=WHOLE)
    return fresh


def _fingerprint(row: Mapping[str, Any], kind: str) -> Fingerprint:
    return Fingerprint(
        kind=kind if row["sum"] else NONE, bytes=row["bytes"], files=row["files"], sum=row["sum"]
    )
