"""Simulation of eviction policies on a trace of reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.native import native_module

STEPS = 8
"""Default number of memory sizes to try: eighths of all blocks."""
PICTURE_STEPS = 16
"""Number of memory sizes for a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The simulated hits of a policy with a size of memory, in reads and bytes.

    `filled_bytes` are the bytes that were loaded into memory.
    """

    policy: str
    admission: bool
    memory_bytes: int
    hit_reads: int
    hit_bytes: int
    filled_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Totals of a trace, and outcomes of policies, by memory, then policy."""

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
    """Replay a trace (`spec/formats/store-trace.md`) with policies, by default all.

    `memories` are in bytes, by default `steps` equal steps up to all blocks. `admissions` are
    without admission, with it, or both. Cost: O(reads) for each policy and memory.
    Errors: `InputError` naming the line of the trace, or the policy.
    """
    request = {
        "trace": str(trace),
        "policies": list(policies),
        "memories": list(memories),
        "steps": 0 if memories else steps,
        "admissions": list(admissions),
    }
    report = json.loads(native_module().store_simulate(json.dumps(request)))
    outcomes = tuple(
        Simulated(
            policy=outcome["policy"],
            admission=outcome["admission"],
            memory_bytes=outcome["memory_bytes"],
            hit_reads=outcome["hits"]["reads"],
            hit_bytes=outcome["hits"]["bytes"],
            filled_bytes=outcome["hits"]["filled_bytes"],
        )
        for outcome in report.pop("outcomes")
    )
    return Simulation(outcomes=outcomes, **report)
