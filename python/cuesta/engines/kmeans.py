"""What bounds a phase of `kmeans` on the native engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FILE_READ = "file_read_warm_bytes_per_s"
_BALANCE_FLOPS_PER_BYTE = 8.0
"""Where a pass over points does more than this, arithmetic bounds it, not memory."""


def ceiling(row: Mapping[str, Any]) -> str | None:
    """The ceiling of a phase, by its name without its number."""
    name = row["name"].rstrip("0123456789 ")
    if name == "iteration":
        arithmetic = (row.get("flops") or 0) > _BALANCE_FLOPS_PER_BYTE * (row.get("bytes") or 0)
        return "fma_f32_flops_per_s" if arithmetic else "memory_read_bytes_per_s"
    return _FILE_READ if name == "streamed iteration" else None
