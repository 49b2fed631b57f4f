"""What each eviction policy would have hit in a trace of reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.native import native_module

STEPS = 8
"""Memories that are tried where none is given: eighths of all blocks."""
PICTURE_STEPS = 16
"""As many for a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A policy with a memory of some bytes, and the reads and bytes that it would have hit.

    `filled_bytes` are those that came into memory.
    """

    policy: str
    admission: bool
    memory_bytes: int
    hit_reads: int
    hit_bytes: int
    filled_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What is in a trace, and what policies would have made of it, by memory, then policy."""

    reads: int
    read_bytes: int
    blocks: int
    blocks_bytes: int
    outcomes: tuple[Simulated, ...]


def simulate(
    trace: Path,
    policies: Sequence[str] = (),
    memories: Sequence[int] = (),
    *,
    steps: int = STEPS,
    admissions: Sequence[bool] = (False,),
) -> Simulation:
    """Replay a trace (`spec/formats/store-trace.md`) under policies, all when none is named.

    `memories` are in bytes; none means `steps` equal ones up to all blocks. `admissions` are
    without admission, with it, or both. Cost: O(reads) a policy and memory.
    Errors: `InputError` naming the line of the trace, or the policy.
    """
    request = {
        "trace": str(trace),
        "policies": list(policies),
        "memories": list(memories),
        "steps": 0 if memories else steps,
        "admissions": list(admissions),
    }
    found = json.loads(native_module().store_simulate(json.dumps(request)))
    outcomes = tuple(
        Simulated(
            policy=one["policy"],
            admission=one["admission"],
            memory_bytes=one["memory_bytes"],
            hit_reads=one["hits"]["reads"],
            hit_bytes=one["hits"]["bytes"],
            filled_bytes=one["hits"]["filled_bytes"],
        )
        for one in found.pop("outcomes")
    )
    return Simulation(outcomes=outcomes, **found)
