"""Content of the files of histories, which shows what was written and whether it is whole."""

from __future__ import annotations

from storekit import BLOCK_BYTES


def content(value: str) -> bytes:
    """Return the bytes of a file with this value: as many as its first digit says."""
    line = f"{value}\n".encode()
    size_bytes = BLOCK_BYTES * int(value[0], 16) // 6 + len(line)
    return (line * (size_bytes // len(line) + 1))[:size_bytes]


def content_value(read: bytes) -> str:
    """Return the value of a file; what is no content of one value shows as such."""
    value = read[:12].decode("ascii", "replace")
    try:
        is_intact = content(value) == read
    except (ValueError, IndexError):
        is_intact = False
    return value if is_intact else f"damaged: {len(read)} bytes, {read[:26]!r}"
