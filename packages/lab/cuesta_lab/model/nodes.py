"""Time of a job on several numbers of nodes, and the number up to which more nodes pay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta_lab.model import table
from cuesta_lab.model.predict import NODES_BEYOND, Prediction, in_group

PAYS = 1.5
"""Least speed-up for which doubling the nodes pays."""


@dataclass(frozen=True, kw_only=True)
class OnNodes:
    """A job on a number of nodes: its prediction, and its measured time if there is one."""

    nodes: int
    prediction: Prediction
    measured_s: float | None

    @property
    def node_hours(self) -> float | None:
        """Predicted node hours; None without a prediction."""
        seconds = self.prediction.predicted_s
        return None if seconds is None else self.nodes * seconds / 3600


def on_nodes(
    group: Mapping[str, Any],
    seed: int,
    amount: float | None = None,
    counts: Sequence[int] = (),
    numbers: Mapping[str, str] | None = None,
) -> Iterator[OnNodes]:
    """Predict the largest job measured, or one of `amount`, on several numbers of nodes.

    Without `counts` these double from the fewest measured nodes as far as the model answers.
    `numbers` are further columns of the question, such as `memory_bytes`. Errors: `InputError` for
    an invalid number.
    """
    job_amount = largest(group) if amount is None else amount
    for nodes in counts or _doubled(group):
        cores = [run["cores_per_node"] for run in group["runs"]]
        row = {
            **group["group"], "nodes": str(nodes), "cores_per_node": str(max(cores)),
            group["unit"]: repr(job_amount), **(numbers or {}),
        }  # fmt: skip
        question = table.question("question", row)
        alike = [
            run for run in group["runs"] if (run["nodes"], run["amount"]) == (nodes, job_amount)
        ]
        yield OnNodes(
            nodes=nodes,
            prediction=in_group(group, question, seed),
            measured_s=median(run["seconds"] for run in alike) if alike else None,
        )


def largest(group: Mapping[str, Any]) -> float:
    """Amount of the largest measured job."""
    return float(max(run["amount"] for run in group["runs"]))


def pays_up_to(rows: Sequence[OnNodes]) -> int | None:
    """Most nodes that pay, compared with the preceding entry of `rows`; None if none do."""
    predicted = [row for row in rows if row.prediction.predicted_s]
    last = None
    for fewer, more in pairwise(predicted):
        gain = (fewer.prediction.predicted_s or 0.0) / (more.prediction.predicted_s or math.inf)
        if gain >= PAYS ** math.log2(more.nodes / fewer.nodes):
            last = more.nodes
    return last


def fastest(rows: Sequence[OnNodes]) -> OnNodes | None:
    """Entry with the least predicted time; None if all are refused."""
    predicted = [row for row in rows if row.prediction.predicted_s]
    return min(predicted, key=lambda row: row.prediction.predicted_s or math.inf, default=None)


def counts(text: str) -> list[int]:
    """Parse comma-separated numbers of nodes into a sorted list. Errors: `InputError`."""
    try:
        numbers = sorted({int(word) for word in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise InputError(f"--nodes is {text!r}, give numbers of nodes such as 1,2,4,8")
    return numbers


def _doubled(group: Mapping[str, Any]) -> list[int]:
    measured = sorted({run["nodes"] for run in group["runs"]})
    doublings = int(math.log2(NODES_BEYOND * measured[-1] / measured[0]))
    return [measured[0] * 2**power for power in range(doublings + 1)]
