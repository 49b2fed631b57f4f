"""Checks of the PGA paper's claims on performance per dollar against its prices and speedups.

The sentences are in `spec/machines/findings.toml`. A sentence follows if the ratio derived from the
paper's numbers is within 20 % of the claimed one: that has one digit, and the speedups are read
from text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.errors import Defect
from cuesta_lab.model.machines import FOLDER, Hardware, known

TOLERANCE = 0.2
FOLLOWS = "follows"
DOES_NOT_FOLLOW = "does not follow"
NOT_CHECKED = "cannot be checked"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A sentence of the paper, with the ratio that the paper's numbers give.

    Attributes
    ----------
    claimed
        Ratio in the paper; for a comparison without a number, the ratio's lower bound.
    derived
        Ratio from its prices and speedups; None if the text has no speedup.
    """

    name: str
    where: str
    stage: str
    says: str
    claimed: float
    derived: float | None
    verdict: str
    how: str
    note: str


def findings() -> list[Finding]:
    """Return all findings, in the order of the file."""
    table = tomllib.loads((FOLDER / "findings.toml").read_text(encoding="utf-8"))
    machines = known()
    return [_finding(row, machines) for row in table["finding"]]


def _finding(row: Mapping[str, Any], machines: Mapping[str, Hardware]) -> Finding:
    machine, base = machines[row["machine"]], machines[row["base"]["machine"]]
    nodes, base_nodes = row["nodes"], row["base"]["nodes"]
    claimed = float(row.get("claimed", row.get("at_least")))
    measure = row.get("measure", "performance per dollar")
    if measure != "performance per dollar":
        sizes = {
            "cores": lambda hardware: hardware.cores,
            "memory": lambda hardware: hardware.memory_bytes,
        }
        derived = nodes * sizes[measure](machine) / (base_nodes * sizes[measure](base))
        how = f"{nodes} x {machine.name} by {base_nodes} x {base.name}, {measure}"
    elif "speedup" in row:
        cost, base_cost = nodes * _dollars(machine), base_nodes * _dollars(base)
        derived = row["speedup"] * base_cost / cost
        how = f"speedup {row['speedup']:g} x {base_cost:,.0f} $ / {cost:,.0f} $ ({row['why']})"
    else:
        cost, base_cost = nodes * _dollars(machine), base_nodes * _dollars(base)
        needed = claimed * cost / base_cost
        derived = None
        how = f"the text has no time; it would need a speedup of {needed:.2f}"
    return Finding(
        name=row["name"],
        where=row["where"],
        stage=row["stage"],
        says=row["says"],
        claimed=claimed,
        derived=derived,
        verdict=_verdict(derived, claimed, exceeds="at_least" in row),
        how=how,
        note=row.get("note", ""),
    )


def _verdict(derived: float | None, claimed: float, *, exceeds: bool) -> str:
    if derived is None:
        return NOT_CHECKED
    near = derived > claimed if exceeds else abs(derived / claimed - 1) <= TOLERANCE
    return FOLLOWS if near else DOES_NOT_FOLLOW


def _dollars(machine: Hardware) -> float:
    if machine.price is None or machine.price.node is None:
        raise Defect(f"{machine.key} has no price of a node")
    return machine.price.node
