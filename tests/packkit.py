"""Compression of inputs of tests, in each format that readers recognise."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Callable

import pyarrow as pa

MARK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block at the end of a file of bgzip."""


def bgzip(text: bytes, size: int = 20_000) -> bytes:
    """Return blocks of bgzip without the end mark."""
    blocks = []
    for start in range(0, len(text), size):
        part = text[start : start + size]
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed_part = packer.compress(part) + packer.flush()
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
        tail = struct.pack("<II", zlib.crc32(part), len(part))
        blocks.append(head + struct.pack("<H", len(packed_part) + 25) + packed_part + tail)
    return b"".join(blocks)


def zstd(text: bytes) -> bytes:
    """Return a frame of Zstandard."""
    packed_text: bytes = pa.Codec("zstd").compress(text, asbytes=True)
    return packed_text


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bgzip": lambda text: bgzip(text) + MARK,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
