"""What the engines other than native share for `sort`: shares, samples, sizes."""

from __future__ import annotations

from cuesta.errors import InputError
from cuesta.units import format_bytes

RECORD_BYTES = 100
SORTED_FILE = "sorted.dat"
PART_SAMPLES = 128
"""Sampled records for each part: its size is then within some tenths of the mean."""

RANK_SAMPLES = 1024
"""Sampled records of each rank: no other will be larger than a tenth more than the mean."""

RANK_BESIDE_BYTES = 80 << 20
"""A rank with its libraries."""
_SHARES_HELD = 2.5
"""Times its share that a rank holds: what it sends and what it receives, parts being uneven."""


def check_memory(records: int, ranks: int, memory_bytes: int) -> None:
    """Errors: `InputError` when the ranks can't hold all records."""
    needed = int(_SHARES_HELD * records * RECORD_BYTES) + ranks * RANK_BESIDE_BYTES
    if needed > memory_bytes:
        raise InputError(
            f"memory: {ranks} ranks that sort {format_bytes(records * RECORD_BYTES)} hold up to "
            f"{format_bytes(needed)}, the limit is {format_bytes(memory_bytes)}; raise --memory, "
            "or use --engine native, which sorts in runs on disk"
        )
