"""Number of a file's blocks in the memory of each store of a job."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cuesta_store import control

PLACES_MAX = 1 << 16
"""Limit of blocks whose places are requested at once."""


def blocks_by_store(path: str, size_bytes: int, folder: Path | None = None) -> dict[str, int]:
    """Return how many blocks of a file each store of the job has; empty for a single store.

    Errors: as `control.ask`.
    """
    status = control.status(folder)
    if status["peers"] is None:
        return {}
    counts: Counter[str] = Counter()
    blocks = -(-size_bytes // status["block_bytes"])
    for first in range(0, blocks, PLACES_MAX):
        count = min(blocks - first, PLACES_MAX)
        reply = control.ask("places", folder, path=path, first=first, count=count)
        counts.update(reply["stores"][store] for block in reply["holders"] for store in block)
    return dict(sorted(counts.items()))
