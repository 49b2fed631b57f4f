"""What the engines share for `kmeans`: requests, ranges of points, and what bounds a phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from cuesta.engines.shares import Share, share_of

PHASES_MAX = 100
"""Iterations that have a phase of their own."""

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


def shares(points: int, parts: int) -> list[Share]:
    """First point and number of points of each part: as even as they can be, some may be empty."""
    return [share_of(points, part, parts) for part in range(parts)]


def amounts(facts: Mapping[str, Any]) -> dict[str, int]:
    """What an iteration goes over and computes."""
    points, dimensions = facts["points"], facts["dimensions"]
    return {
        "rows": points,
        "bytes": points * facts["row_bytes"],
        "flops": 2 * points * dimensions * facts["clusters"],
    }


def iterate(
    step: Callable[[], bool],
    phase: Callable[[str], AbstractContextManager[object]],
    kind: str,
) -> None:
    """Call `step` until it says that it was the last; each step has a phase, as far as they go."""
    done = False
    for number in range(1, PHASES_MAX + 1):
        with phase(f"{kind} {number}"):
            done = step()
        if done:
            return
    with phase("later iterations"):
        while not done:
            done = step()


def counts(facts: Mapping[str, Any], iterations: int) -> dict[str, int]:
    """The counts of the answer."""
    names: Sequence[str] = ("points", "dimensions", "clusters")
    return {name: facts[name] for name in names} | {"iterations": iterations}
