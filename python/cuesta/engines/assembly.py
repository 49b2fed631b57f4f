"""What the engines of many processes share for `assemble`: shares, parts, and phases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from cuesta.native import native_module

PART_BYTES = 64 << 20
"""Reads whose super-k-mers a part has, about."""

Row = dict[str, Any]


class Feed:
    """What a part of the native module calls; this one is fed with `given` and is alone."""

    def __init__(self, given: Iterator[bytes]) -> None:
        self._given = given

    def blocks(self) -> bytes | None:
        """Blocks of super-k-mers; None when there are no more."""
        return next(self._given, None)

    def min_count(self, _sample: bytes) -> int | None:
        """The smallest count for all; None where only the sample is wanted."""
        return None

    def together(self) -> int | None:
        """How many parts compress chains by `exchange`; None where that is done elsewhere."""
        return None

    def exchange(self, parts: list[bytes]) -> bytes:
        """Give out what is for other parts; what they have for this one."""
        return parts[0]

    def totals(self, numbers: list[int]) -> list[int]:
        """The sums of numbers over all parts."""
        return numbers


class Workers(Protocol):
    """Whom a run that is led by the native module asks."""

    @property
    def parts(self) -> int:
        """How many parts vertices are spread over."""

    def fragments(self, ask: str, trusted: bytes | None) -> list[bytes]:
        """What all parts have found."""

    def supersteps(self, control: str, given: list[bytes]) -> tuple[str, list[bytes]]:
        """How a program on the vertices given for each part ended, and what it has left."""


def shares(inputs: Iterable[str], size_bytes: int) -> list[str]:
    """Shares of the reads, each as JSON; a gzipped file is one."""
    found = json.loads(native_module().assembly_split(json.dumps(list(inputs)), size_bytes))
    return [json.dumps(share) for share in found]


def together(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Phases of one name as one, in the order in which they came first."""
    found: dict[str, Row] = {}
    for row in rows:
        same = found.setdefault(row["name"], {"name": row["name"], "seconds": 0.0})
        for name in ("seconds", "bytes", "rows"):
            if row.get(name):
                same[name] = same.get(name, 0) + row[name]
    return list(found.values())
