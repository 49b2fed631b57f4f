"""How long a job takes on each of several numbers of nodes, and up to which of them more pay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta.model import table
from cuesta.model.predict import NODES_BEYOND, Prediction, in_group

PAYS = 1.5
"""Twice the nodes pay where they make a job so many times as fast."""


@dataclass(frozen=True, kw_only=True)
class OnNodes:
    """A job on so many nodes: what is predicted, and what was measured there, if anything was."""

    nodes: int
    prediction: Prediction
    measured_s: float | None

    @property
    def node_hours(self) -> float | None:
        """What it takes of nodes; None where nothing is predicted."""
        seconds = self.prediction.predicted_s
        return None if seconds is None else self.nodes * seconds / 3600


def on_nodes(
    group: Mapping[str, Any],
    seed: int,
    amount: float | None = None,
    counts: Sequence[int] = (),
    numbers: Mapping[str, str] | None = None,
) -> Iterator[OnNodes]:
    """The largest job measured, or one of `amount`, on numbers of nodes.

    Without `counts` these are doubled from the fewest measured nodes as far as a model answers.
    `numbers` are other columns of a question, such as `memory_bytes`. Errors: `InputError` for a
    number that no question can have.
    """
    asked = largest(group) if amount is None else amount
    for nodes in counts or _doubled(group):
        known = [one["cores_per_node"] for one in group["runs"]]
        row = {
            **group["group"], "nodes": str(nodes), "cores_per_node": str(max(known)),
            group["unit"]: repr(asked), **(numbers or {}),
        }  # fmt: skip
        question = table.question("question", row)
        alike = [one for one in group["runs"] if (one["nodes"], one["amount"]) == (nodes, asked)]
        yield OnNodes(
            nodes=nodes,
            prediction=in_group(group, question, seed),
            measured_s=median(one["seconds"] for one in alike) if alike else None,
        )


def largest(group: Mapping[str, Any]) -> float:
    """Amount of the largest job that was measured."""
    return float(max(one["amount"] for one in group["runs"]))


def pays_up_to(rows: Sequence[OnNodes]) -> int | None:
    """The most nodes that pay beside those before them in `rows`; None where none do."""
    told = [one for one in rows if one.prediction.predicted_s]
    last = None
    for fewer, more in pairwise(told):
        gain = (fewer.prediction.predicted_s or 0.0) / (more.prediction.predicted_s or math.inf)
        if gain >= PAYS ** math.log2(more.nodes / fewer.nodes):
            last = more.nodes
    return last


def fastest(rows: Sequence[OnNodes]) -> OnNodes | None:
    """The one with the least predicted time; None where all are refused."""
    told = [one for one in rows if one.prediction.predicted_s]
    return min(told, key=lambda one: one.prediction.predicted_s or math.inf, default=None)


def counts(text: str) -> list[int]:
    """Numbers of nodes between commas, rising. Errors: `InputError`."""
    try:
        found = sorted({int(word) for word in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise InputError(f"--nodes is {text!r}, give numbers of nodes such as 1,2,4,8")
    return found


def _doubled(group: Mapping[str, Any]) -> list[int]:
    measured = sorted({one["nodes"] for one in group["runs"]})
    doublings = int(math.log2(NODES_BEYOND * measured[-1] / measured[0]))
    return [measured[0] * 2**power for power in range(doublings + 1)]
