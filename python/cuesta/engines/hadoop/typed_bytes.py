"""Hadoop's typed bytes, two kinds of them: a kind byte, then a number or counted bytes."""

from __future__ import annotations

import struct
from typing import IO, Any

_BYTES, _INT = 0, 3
_NUMBER = struct.Struct(">Bi")


def write_int(file: IO[bytes], number: int) -> None:
    """Write a number of 32 bits."""
    file.write(_NUMBER.pack(_INT, number))


def write_bytes(file: IO[bytes], data: Any) -> None:
    """Write fewer than 2 GiB of bytes."""
    file.write(_NUMBER.pack(_BYTES, len(data)))
    file.write(data)


def read_int(file: IO[bytes]) -> int | None:
    """Read a number; return None at the end. Errors: `ValueError` for anything else."""
    return _number(file, _INT)


def read_bytes(file: IO[bytes]) -> bytes:
    """Read bytes. Errors: `ValueError` for anything else, also for the end."""
    count = _number(file, _BYTES)
    data = b"" if count is None else file.read(count)
    if count is None or len(data) != count:
        raise ValueError("typed bytes end in the middle")
    return data


def _number(file: IO[bytes], kind: int) -> int | None:
    head = file.read(_NUMBER.size)
    if not head:
        return None
    if len(head) < _NUMBER.size or head[0] != kind:
        raise ValueError(f"typed bytes have {head.hex(' ')} where kind {kind} should be")
    number: int = _NUMBER.unpack(head)[1]
    return number
