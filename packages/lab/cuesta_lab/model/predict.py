"""Predictions of a model: seconds with an interval, or the reason for a refusal."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.errors import InputError, in_words
from cuesta.units import format_count
from cuesta.untrusted import read_json
from cuesta_lab.model import factors
from cuesta_lab.model.candidates import NOISE, Candidate, draw_seconds
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.terms import STEPS, over, values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA = "cuesta.model/1"
CONFIDENCE = 0.9
DRAWS = 4000
NODES_BEYOND = 16.0
"""Largest ratio of a question's nodes to the nearest number of nodes measured."""
WORK_BEYOND = 16.0
"""Largest ratio of a question's work for a core to the nearest work measured."""
DOUBLING = 0.07
"""Relative error that each doubling or halving of nodes beyond the measured ones adds."""
FREE_LEAST = 3.0
"""Fewest degrees of freedom of Student's distribution: with fewer its tails are beyond what runs
do."""
WIDTH_MAX = 6.0
"""Largest ratio of an interval's ends; a wider one is refused."""
FASTER = 0.6
"""Largest speed-up over the fit for a question with enough memory where all runs were short of it,
or on one node where all runs had several."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predicted seconds with an interval of 90 %, or the reason for a refusal."""

    predicted_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    refused: str = ""

    @property
    def width(self) -> float:
        """Ratio of the interval's ends."""
        return (self.high_s or math.inf) / (self.low_s or 1.0)

    def stretched(self, low: float, high: float) -> Prediction:
        """Prediction with the ends of its interval multiplied by `low` and `high`."""
        return replace(self, low_s=(self.low_s or 0.0) * low, high_s=(self.high_s or 0.0) * high)


def read(path: Path) -> dict[str, Any]:
    """Read a model file. Errors: `InputError` for any other file."""
    try:
        model = read_json(path)
    except OSError as error:
        raise InputError(f"{path}: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a model file ({error}); fit it again") from None
    schema = model.get("schema") if isinstance(model, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path}: a file of schema {schema}, expected {SCHEMA}; fit it anew")
    return dict(model)


def predict(model: Mapping[str, Any], question: Observation) -> Prediction:
    """Predict the time of one question with a model file.

    A question may omit names that all matching groups have in common. Names that no group has, such
    as a note, are ignored.
    """
    group, refused = group_of(model, question)
    return in_group(group, question, model["seed"]) if group else Prediction(refused=refused)


def group_of(
    model: Mapping[str, Any], question: Observation
) -> tuple[Mapping[str, Any] | None, str]:
    """Find the only group that matches a question; else return None and the reason."""
    groups = model["groups"]
    known = {name for group in groups for name in group["group"]}
    criteria = {name: text for name, text in question.group.items() if name in known}
    matches = [group for group in groups if criteria.items() <= group["group"].items()]
    if not matches:
        group_names = "; ".join(group["name"] for group in groups)
        return None, f"no runs of {question.key or 'that'}; there are some of: {group_names}"
    if len(matches) > 1:
        names = sorted({n for group in matches for n in group["group"]} - set(criteria))
        return None, f"several kinds of runs are meant; add a column {' or '.join(names)}"
    return matches[0], ""


def in_group(
    group: Mapping[str, Any], question: Observation, seed: int, width_max: float = WIDTH_MAX
) -> Prediction:
    """Predict the time of a question with the model of its group."""
    why = group["refused"] or _too_far(group, question)
    if why:
        return Prediction(refused=why)
    question = factors.with_common_limits(group["range"].get("factors", {}), question)
    prediction = estimate(group, question, seed)
    reach = factors.reach(group, question, prediction.predicted_s or 0.0)
    if reach.refused:
        return Prediction(refused=reach.refused)
    if prediction.width > width_max:
        return Prediction(
            refused=f"forms that fit the runs as well say {prediction.low_s:.3g} to"
            f" {prediction.high_s:.3g} s; measure a run with about"
            f" {question.work:.3g} {question.unit} for a core"
        )
    return prediction.stretched(reach.faster, reach.slower)


def estimate(group: Mapping[str, Any], question: Observation, seed: int) -> Prediction:
    """Predict seconds with their interval, however far the question is from the runs."""
    import numpy as np

    samples = draws(group, question, seed)
    nodes = group["range"]["nodes"]
    ratio = max(1.0, question.nodes / nodes[-1], nodes[0] / question.nodes)
    random = np.random.default_rng(_seed(seed, question, "noise"))
    spread = DOUBLING * math.log2(ratio) * random.standard_normal(len(samples))
    samples = samples * np.exp(spread + _noise(group, random, len(samples)))
    tail = (1 - CONFIDENCE) / 2
    low, middle, high = (float(value) for value in np.quantile(samples, [tail, 0.5, 1 - tail]))
    prediction = Prediction(predicted_s=middle, low_s=low, high_s=high)
    is_alone = question.nodes == 1 < nodes[0]
    return (
        prediction.stretched(FASTER, 1.0) if is_alone or _roomier(group, question) else prediction
    )


def _noise(
    group: Mapping[str, Any], random: np.random.Generator, count: int
) -> NDArray[np.float64]:
    """Draw relative errors of a further run from the residuals of the fitted forms.

    A form with as many terms as runs has no residuals; the scatter of few runs is as uncertain as
    Student's distribution has it.
    """
    forms = group["views"]["overall"]
    weight = sum(form["weight"] for form in forms)
    runs = len(group["runs"])
    free = sum(form["weight"] * max(1, runs - len(form["terms"])) for form in forms) / weight
    mean = sum(form["weight"] * form["error"] for form in forms) / weight
    scatter = mean * math.sqrt(runs / free)
    if scatter <= NOISE:
        noise: NDArray[np.float64] = NOISE * random.standard_normal(count)
    else:
        noise = scatter * random.standard_t(max(FREE_LEAST, free), count)
    return noise


def draws(group: Mapping[str, Any], question: Observation, seed: int) -> NDArray[np.float64]:
    """Draw seconds, half by the model of the complete run, half by the sum of its phases'."""
    import numpy as np

    row = values(question)
    draws_of = {
        name: draw_seconds(candidates(view), row, DRAWS // 2, _seed(seed, question, name))
        for name, view in group["views"].items()
    }
    overall = draws_of.pop("overall")
    if not draws_of:
        return overall
    return np.concatenate([overall, np.sum(list(draws_of.values()), axis=0)])


def candidates(view: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """Restore candidates from their records in a model file."""
    return [
        Candidate(
            terms=tuple(candidate["terms"]),
            coefficients=tuple(candidate["coefficients"]),
            covariance=tuple(tuple(row) for row in candidate["covariance"]),
            weight=candidate["weight"],
            error=candidate["error"],
        )
        for candidate in view
    ]


def _seed(seed: int, question: Observation, name: str) -> int:
    """Seed of a question that does not depend on the other questions."""
    text = f"{seed} {question.nodes} {question.cores_per_node} {question.amount} {name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _too_far(group: Mapping[str, Any], question: Observation) -> str:
    """Reason why a question is too far from the runs; empty if it is not."""
    nodes, work = group["range"]["nodes"], group["range"]["work"]
    if question.unit != group["unit"]:
        return f"the runs count {group['unit']}, the question {question.unit}"
    if len(nodes) == 1 and question.nodes != nodes[0]:
        return f"all runs had {format_count(nodes[0], 'node')}; measure another number of them"
    # In a model file from before, `cores` is not there.
    cores = group["range"].get("cores", [])
    if len(cores) == 1 and question.cores_per_node != cores[0]:
        each = format_count(cores[0], "core")
        return f"all runs had {each} a node; measure another number of them"
    if question.nodes > NODES_BEYOND * nodes[-1]:
        return (
            f"{question.nodes} nodes are more than {NODES_BEYOND:g} times the {nodes[-1]} of the"
            f" largest run; measure at least {math.ceil(question.nodes / NODES_BEYOND)}"
        )
    if question.nodes * NODES_BEYOND < nodes[0]:
        return (
            f"the smallest run had {nodes[0]} nodes, more than {NODES_BEYOND:g} times the"
            f" {question.nodes} of the question; measure at most {question.nodes * NODES_BEYOND:g}"
        )
    if question.work > WORK_BEYOND * work[1] or question.work < work[0] / WORK_BEYOND:
        return (
            f"{question.work:.3g} {question.unit} for a core, the runs had {work[0]:.3g} to"
            f" {work[1]:.3g}; measure nearer to it"
        )
    for name, sides in group["range"]["steps"].items():
        if over(question, STEPS[name]) is True and True not in sides:
            return _no_room(question, STEPS[name])
    return ""


def _no_room(question: Observation, copies: int) -> str:
    held = (question.cache_bytes or 0.0) / 2**30
    needed = copies * (question.data_bytes or 0.0) / question.nodes / 2**30
    return (
        f"{'1 copy of the data needs' if copies == 1 else f'{copies} copies of the data need'}"
        f" {needed:.3g} GiB of a"
        f" node's {held:.3g} GiB for cached data, and no run was short of it; measure one"
    )


def _roomier(group: Mapping[str, Any], question: Observation) -> bool:
    """Whether all runs were short of memory and the question is not."""
    return any(
        over(question, STEPS[name]) is False and False not in sides
        for name, sides in group["range"]["steps"].items()
    )
