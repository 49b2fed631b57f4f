"""Simulation of eviction policies on a trace of reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta_store.native import native_module
from cuesta_store.units import format_bytes

STEPS = 8
"""Default number of memory sizes to try: eighths of all blocks."""
PICTURE_STEPS = 16
"""Number of memory sizes for a picture."""
GAIN_MIN = 0.01
"""Least gain, as a share of the bytes read, for which a larger memory counts as better."""


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
    report = json.loads(native_module().simulate(json.dumps(request)))
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


def best(simulation: Simulation) -> Simulated | None:
    """Return the policy with the most hits at the least memory; `None` where none has hits.

    A difference below `GAIN_MIN` of the bytes that are read is ignored.
    """
    most = max((outcome.hit_bytes for outcome in simulation.outcomes), default=0)
    if most == 0:
        return None
    enough = [
        outcome
        for outcome in simulation.outcomes
        if outcome.hit_bytes >= most - GAIN_MIN * simulation.read_bytes
    ]
    return min(enough, key=lambda outcome: (outcome.memory_bytes, -outcome.hit_bytes))


def recommendation(simulation: Simulation) -> str:
    """Recommend a policy and its memory, in one sentence."""
    chosen = best(simulation)
    if chosen is None:
        return "No memory of these sizes holds a block until it is read again."
    largest = max(outcome.memory_bytes for outcome in simulation.outcomes)
    more = (
        f"more memory gains less than {GAIN_MIN:.0%}"
        if chosen.memory_bytes < largest
        else "all blocks fit"
        if chosen.memory_bytes >= simulation.blocks_bytes
        else "it is the largest that was tried"
    )
    hit_share = chosen.hit_bytes / simulation.read_bytes
    return (
        f"Take {chosen.policy} with {format_bytes(chosen.memory_bytes)}: "
        f"{hit_share:.1%} of the bytes are read from memory; {more}."
    )
