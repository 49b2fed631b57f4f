"""Cross-validation of a group's model: each run left out in turn, and the runs on most nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from cuesta_lab.model.observed import Observation
from cuesta_lab.model.predict import estimate, in_group
from cuesta_lab.model.views import fitted_range, views

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


def _errors(
    parts: Sequence[tuple[Observation, Sequence[Observation]]], group: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Median relative error and the share of runs within their intervals.

    `missed` is the median error that includes runs whose interval is too wide for a prediction.
    """
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


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    import numpy as np

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
