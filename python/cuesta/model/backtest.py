"""How well a model predicts what it was not fitted to: its own runs, left out in turn, and the runs
on more nodes than those that it is fitted to.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from cuesta.model.observed import Observed

ERROR_MAX = 0.25
"""A form whose median error on runs left out is larger does not describe the runs."""
RUNS_FOR_STRUCTURE = 5
TREND_MAX = 0.9
TREND_ERROR = 0.1


def check(runs: Sequence[Observed], group: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Errors and coverage: each run left out, and the runs on the most nodes left out together."""
    largest = max(one.nodes for one in runs)
    below = [one for one in runs if one.nodes < largest]
    above = [one for one in runs if one.nodes == largest]
    single = [(one, [other for other in runs if other is not one]) for one in runs]
    return {
        "left_out": _errors(single, group, seed),
        "largest_left_out": _errors([(one, below) for one in above], group, seed),
    }


def _errors(
    parts: Sequence[tuple[Observed, Sequence[Observed]]], group: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Median relative error and the share of runs within their intervals.

    `missed` is the median error of those too whose interval is too wide to be told.
    """
    from cuesta.model.fit import fitted_range, views
    from cuesta.model.predict import in_group

    errors, every, within, refused = [], [], 0, 0
    for asked, rest in parts:
        if len({one.shape for one in rest}) < 2:
            refused += 1
            continue
        made = {**group, "refused": None, "runs": rest, "views": views(rest)}
        made["range"] = fitted_range(rest)
        if not made["views"]["overall"]:
            refused += 1
            continue
        seconds = asked.seconds or math.inf
        wide = in_group(made, asked, seed, math.inf)
        if not wide.refused:
            every.append(abs((wide.predicted_s or 0.0) / seconds - 1))
        found = in_group(made, asked, seed)
        if found.refused:
            refused += 1
            continue
        errors.append(every[-1])
        within += (found.low_s or 0.0) <= seconds <= (found.high_s or math.inf)
    return {
        "runs": len(parts),
        "refused": refused,
        "median_error": median(errors) if errors else None,
        "within": within / len(errors) if errors else None,
        "missed": median(every) if every else None,
    }


@dataclass(frozen=True, kw_only=True)
class HeldBack:
    """What the runs of a group on few nodes say of those on more.

    Attributes
    ----------
    name, nodes_max, fitted
        The group, the most nodes of the runs that it was fitted to, how many these are.
    asked
        How many runs on more nodes there are.
    errors
        Predicted by measured seconds, less 1, of those that are not refused.
    within
        How many of them are in their intervals.
    refused
        Why others are, each reason once.
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
        """Relative; None where all are refused."""
        return median(map(abs, self.errors)) if self.errors else None

    @property
    def worst_error(self) -> float | None:
        """The largest relative error, with its sign; None where all are refused."""
        return max(self.errors, key=abs, default=None)


def held_back(observed: Sequence[Observed], seed: int) -> Iterator[HeldBack]:
    """For each group and each number of nodes but its largest: fitted up to there, asked beyond.

    Left out are numbers of nodes up to which there are too few runs for a model.
    """
    from cuesta.model.fit import RUNS_MIN

    groups: dict[str, list[Observed]] = defaultdict(list)
    for one in observed:
        groups[one.key].append(one)
    for name, runs in sorted(groups.items()):
        for nodes_max in sorted({one.nodes for one in runs})[:-1]:
            if len({one.shape for one in runs if one.nodes <= nodes_max}) >= RUNS_MIN:
                yield _held_back(name, runs, nodes_max, seed)


def together(name: str, parts: Sequence[HeldBack]) -> HeldBack:
    """All of them as one."""
    return HeldBack(
        name=name,
        nodes_max=max((one.nodes_max for one in parts), default=0),
        fitted=sum(one.fitted for one in parts),
        asked=sum(one.asked for one in parts),
        errors=tuple(error for one in parts for error in one.errors),
        within=sum(one.within for one in parts),
        refused=tuple(dict.fromkeys(why for one in parts for why in one.refused)),
    )


def _held_back(name: str, runs: Sequence[Observed], nodes_max: int, seed: int) -> HeldBack:
    from cuesta.model.fit import fit
    from cuesta.model.predict import predict

    below = [one for one in runs if one.nodes <= nodes_max]
    above = [one for one in runs if one.nodes > nodes_max]
    model = fit(below, [], seed)
    found = [(one.seconds or math.inf, predict(model, one)) for one in above]
    told = [(seconds, one) for seconds, one in found if not one.refused]
    return HeldBack(
        name=name,
        nodes_max=nodes_max,
        fitted=len(below),
        asked=len(above),
        errors=tuple((one.predicted_s or 0.0) / seconds - 1 for seconds, one in told),
        within=sum((o.low_s or 0.0) <= seconds <= (o.high_s or math.inf) for seconds, o in told),
        refused=tuple(dict.fromkeys(one.refused for _, one in found if one.refused)),
    )


def structure(runs: Sequence[Observed], group: Mapping[str, Any], seed: int) -> str | None:
    """Why the residuals forbid any prediction; None where they look like noise."""
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
        math.log((estimate(group, one, seed).predicted_s or 1.0) / (one.seconds or 1.0))
        for one in runs
    ]
    if math.sqrt(sum(one**2 for one in residuals) / len(runs)) < TREND_ERROR:
        return None
    for name, scale in (("nodes", [one.nodes for one in runs]), ("work", [o.work for o in runs])):
        if abs(_correlation([math.log(one) for one in scale], residuals)) > TREND_MAX:
            return f"errors grow with the {name}: the form is not that of these runs"
    return None


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    import numpy as np

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
