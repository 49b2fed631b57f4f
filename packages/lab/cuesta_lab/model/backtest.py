"""Back-tests of a model: the runs on more nodes than those of the fit, predicted by it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from cuesta_lab.model.fit import RUNS_MIN, fit
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.predict import predict


@dataclass(frozen=True, kw_only=True)
class HoldOut:
    """Predictions of a group's runs on many nodes by a fit to its runs on few.

    Attributes
    ----------
    name, nodes_max, fitted
        The group, the most nodes of the runs it was fitted to, and the number of these runs.
    asked
        Number of runs on more nodes.
    errors
        Ratio of predicted to measured seconds, less 1, of each run that is not refused.
    within
        Number of runs within their intervals.
    refused
        Distinct reasons of refusals.
    """

    name: str
    nodes_max: int
    fitted: int
    asked: int
    errors: tuple[float, ...]
    within: int
    refused: tuple[str, ...]

    @property
    def median_error(self) -> float | None:
        """Median relative error; None if all runs are refused."""
        return median(map(abs, self.errors)) if self.errors else None

    @property
    def worst_error(self) -> float | None:
        """Largest relative error, with its sign; None if all runs are refused."""
        return max(self.errors, key=abs, default=None)


def hold_out(observed: Sequence[Observation], seed: int) -> Iterator[HoldOut]:
    """For each group and each number of nodes but the largest, fit up to it and predict beyond.

    Numbers of nodes up to which there are too few runs for a model are left out.
    """
    groups: dict[str, list[Observation]] = defaultdict(list)
    for run in observed:
        groups[run.key].append(run)
    for name, runs in sorted(groups.items()):
        for nodes_max in sorted({run.nodes for run in runs})[:-1]:
            if len({run.shape for run in runs if run.nodes <= nodes_max}) >= RUNS_MIN:
                yield _hold_out(name, runs, nodes_max, seed)


def combine(name: str, parts: Sequence[HoldOut]) -> HoldOut:
    """Combine the results of several groups."""
    return HoldOut(
        name=name,
        nodes_max=max((part.nodes_max for part in parts), default=0),
        fitted=sum(part.fitted for part in parts),
        asked=sum(part.asked for part in parts),
        errors=tuple(error for part in parts for error in part.errors),
        within=sum(part.within for part in parts),
        refused=tuple(dict.fromkeys(why for part in parts for why in part.refused)),
    )


def _hold_out(name: str, runs: Sequence[Observation], nodes_max: int, seed: int) -> HoldOut:
    below = [run for run in runs if run.nodes <= nodes_max]
    above = [run for run in runs if run.nodes > nodes_max]
    model = fit(below, [], seed)
    predictions = [(run.seconds or math.inf, predict(model, run)) for run in above]
    answered = [
        (seconds, prediction) for seconds, prediction in predictions if not prediction.refused
    ]
    return HoldOut(
        name=name,
        nodes_max=nodes_max,
        fitted=len(below),
        asked=len(above),
        errors=tuple(
            (prediction.predicted_s or 0.0) / seconds - 1 for seconds, prediction in answered
        ),
        within=sum(
            (prediction.low_s or 0.0) <= seconds <= (prediction.high_s or math.inf)
            for seconds, prediction in answered
        ),
        refused=tuple(
            dict.fromkeys(prediction.refused for _, prediction in predictions if prediction.refused)
        ),
    )
