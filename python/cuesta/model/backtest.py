"""Errors of a model on runs that it was not fitted to: each run left out in turn, and the runs on
more nodes than those of the fit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from cuesta.model.observed import Observation

ERROR_MAX = 0.25
"""Largest median error on runs left out; a form with a larger one does not describe the runs."""
RUNS_FOR_STRUCTURE = 5
TREND_MAX = 0.9
TREND_ERROR = 0.1


def check(runs: Sequence[Observation], group: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Errors and coverage with each run left out, and with all runs on the most nodes left out."""
    largest = max(run.nodes for run in runs)
    below = [run for run in runs if run.nodes < largest]
    above = [run for run in runs if run.nodes == largest]
    pairs = [(run, [another for another in runs if another is not run]) for run in runs]
    return {
        "left_out": _errors(pairs, group, seed),
        "largest_left_out": _errors([(run, below) for run in above], group, seed),
    }


def _errors(
    parts: Sequence[tuple[Observation, Sequence[Observation]]], group: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Median relative error and the share of runs within their intervals.

    `missed` is the median error that includes runs whose interval is too wide for a prediction.
    """
    from cuesta.model.fit import fitted_range, views
    from cuesta.model.predict import in_group

    errors, errors_all, within, refused = [], [], 0, 0
    for question, rest in parts:
        if len({run.shape for run in rest}) < 2:
            refused += 1
            continue
        model = {**group, "refused": None, "runs": rest, "views": views(rest)}
        model["range"] = fitted_range(rest)
        if not model["views"]["overall"]:
            refused += 1
            continue
        seconds = question.seconds or math.inf
        wide = in_group(model, question, seed, math.inf)
        if not wide.refused:
            errors_all.append(abs((wide.predicted_s or 0.0) / seconds - 1))
        prediction = in_group(model, question, seed)
        if prediction.refused:
            refused += 1
            continue
        errors.append(errors_all[-1])
        within += (prediction.low_s or 0.0) <= seconds <= (prediction.high_s or math.inf)
    return {
        "runs": len(parts),
        "refused": refused,
        "median_error": median(errors) if errors else None,
        "within": within / len(errors) if errors else None,
        "missed": median(errors_all) if errors_all else None,
    }


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
    from cuesta.model.fit import RUNS_MIN

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
    from cuesta.model.fit import fit
    from cuesta.model.predict import predict

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


def structure(runs: Sequence[Observation], group: Mapping[str, Any], seed: int) -> str | None:
    """Reason why the residuals forbid any prediction; None if they look like noise."""
    if len(runs) < RUNS_FOR_STRUCTURE:
        return None
    error = group["check"]["left_out"]["missed"]
    if error is not None and error > ERROR_MAX:
        return (
            f"runs left out were missed by {100 * error:.0f} % in the median: something matters"
            " that the model does not know"
        )
    from cuesta.model.predict import estimate

    residuals = [
        math.log((estimate(group, run, seed).predicted_s or 1.0) / (run.seconds or 1.0))
        for run in runs
    ]
    if math.sqrt(sum(residual**2 for residual in residuals) / len(runs)) < TREND_ERROR:
        return None
    for name, scale in (
        ("nodes", [run.nodes for run in runs]),
        ("work", [run.work for run in runs]),
    ):
        if abs(_correlation([math.log(value) for value in scale], residuals)) > TREND_MAX:
            return f"errors grow with the {name}: the form is not that of these runs"
    return None


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    import numpy as np

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
