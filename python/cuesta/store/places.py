"""Which stores of a job have the blocks of a file in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cuesta.store import control

PLACES_MAX = 1 << 16
"""Most blocks whose places are asked for at once."""


def blocks_by_store(path: str, size_bytes: int, folder: Path | None = None) -> dict[str, int]:
    """How many blocks of a file each store of the job has; nothing where there is one store alone.

    Errors: as `control.ask`.
    """
    status = control.status(folder)
    if status["peers"] is None:
        return {}
    found: Counter[str] = Counter()
    blocks = -(-size_bytes // status["block_bytes"])
    for first in range(0, blocks, PLACES_MAX):
        count = min(blocks - first, PLACES_MAX)
        said = control.ask("places", folder, path=path, first=first, count=count)
        found.update(said["stores"][store] for block in said["holders"] for store in block)
    return dict(sorted(found.items()))
