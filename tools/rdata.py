"""Reader of matrices in files that R's `save` wrote (`.rda`), without R.

Source: the chapter on serialization of *R Internals*; the binary form X alone, versions 2 and 3.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAGIC = (b"RDX2\nX\n", b"RDX3\nX\n")
UNPACK = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress, b"\xfd7": lzma.decompress}
"""Functions that unpack a file, by its first two bytes."""

SYMBOL, ENVIRONMENT, TEXT = 1, 4, 9
PAIRS = (2, 3, 5, 6)
"""Items of a head and a tail: lists, functions, promises, calls."""
BUILT_IN = (7, 8)
LOGICAL, INTEGER, REAL, TEXTS, LIST, S4 = 10, 13, 14, 16, 19, 25
REFERENCE, NAMESPACES = 255, (247, 248, 249)
CONSTANTS = (241, 242, 250, 251, 252, 253, 254)
"""Items that are nothing but their code: R's nil, its base and global environments."""
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400


class RDataError(Exception):
    """A file that cannot be read, in one line."""


@dataclass(frozen=True, kw_only=True)
class RMatrix:
    """Matrix of numbers, column by column, with the names of its rows and columns."""

    rows: list[str]
    columns: list[str]
    values: tuple[float, ...]

    def row(self, number: int) -> tuple[float, ...]:
        """Return the values of a row, counted from 0."""
        return self.values[number :: len(self.rows)]


@dataclass(kw_only=True)
class _Reader:
    content: bytes
    place: int = 0
    references: list[Any] = field(default_factory=list)
    matrices: list[RMatrix] = field(default_factory=list)

    def take(self, form: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from(f">{form}", self.content, self.place)
        self.place += struct.calcsize(f">{form}")
        return numbers

    def integer(self) -> int:
        (number,) = self.take("i")
        return int(number)

    def item(self) -> Any:
        flags = self.integer()
        kind = flags & 0xFF
        if kind in CONSTANTS:
            return None
        if kind == REFERENCE:
            return self.references[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            return self.remembered(self.item())
        if kind in NAMESPACES:
            _, count = self.take("ii")
            return self.remembered([self.item() for _ in range(count)])
        if kind == ENVIRONMENT:
            self.integer()
            self.remembered(None)
            return [self.item() for _ in range(4)]
        if kind in PAIRS:
            return self.pairs(flags)
        if kind in BUILT_IN:
            return self.take(f"{self.integer()}s")
        if kind == TEXT:
            size = self.integer()
            return None if size < 0 else self.take(f"{size}s")[0].decode("utf-8", "replace")
        return self.vector(kind, bool(flags & HAS_ATTRIBUTES))

    def remembered(self, value: Any) -> Any:
        self.references.append(value)
        return value

    def pairs(self, flags: int) -> dict[Any, Any]:
        """Read a list of pairs to its end, by name."""
        members: dict[Any, Any] = {}
        while flags & 0xFF in PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item()
            name = self.item() if flags & HAS_TAG else None
            value = self.item()
            if isinstance(name, str):
                members[name] = value
            flags = self.integer()
        self.place -= 4
        self.item()
        return members

    def vector(self, kind: int, has_attributes: bool) -> Any:
        value: Any = None
        if kind in (LOGICAL, INTEGER, REAL):
            count = self.integer()
            value = self.take(f"{count}{'d' if kind == REAL else 'i'}")
        elif kind in (TEXTS, LIST):
            value = [self.item() for _ in range(self.integer())]
        elif kind != S4:
            raise RDataError(f"an item of kind {kind} is not read here")
        attributes = self.item() if has_attributes else {}
        if kind == REAL and "dim" in attributes and all(attributes.get("dimnames") or [None]):
            rows, columns = attributes["dimnames"]
            self.matrices.append(RMatrix(rows=rows, columns=columns, values=value))
        return value


def matrices(path: Path) -> Iterator[RMatrix]:
    """Yield the matrices of numbers in a file whose rows and columns have names.

    Errors: `RDataError` for a file that `save` did not write, or with items other than data.
    """
    content = path.read_bytes()
    unpack = UNPACK.get(content[:2])
    content = unpack(content) if unpack else content
    if not content.startswith(MAGIC):
        raise RDataError(f"{path.name} was not written by R's save")
    reader = _Reader(content=content, place=len(MAGIC[0]))
    version, _, _ = reader.take("iii")
    if version == 3:
        reader.take(f"{reader.integer()}s")
    try:
        reader.item()
    except (struct.error, IndexError) as error:
        raise RDataError(f"{path.name} is damaged: {error}") from error
    yield from reader.matrices
