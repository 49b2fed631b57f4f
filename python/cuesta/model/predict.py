"""Answers a question with a model: seconds with an interval, or why it is refused."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.errors import InputError
from cuesta.model import factors
from cuesta.model.candidates import NOISE, Candidate, drawn
from cuesta.model.fit import SCHEMA
from cuesta.model.observed import Observed
from cuesta.model.terms import STEPS, over, values
from cuesta.units import format_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.9
DRAWS = 4000
NODES_BEYOND = 16.0
"""How many times more nodes than the most measured, or fewer than the fewest, are asked for."""
WORK_BEYOND = 16.0
"""How many times more, or less, work for a core than any measured."""
DOUBLING = 0.07
"""Relative error that each doubling or halving of nodes beyond the measured ones adds."""
FREE_LEAST = 3.0
"""Of fewer degrees of freedom the tails of Student's distribution are beyond what runs do."""
WIDTH_MAX = 6.0
"""An interval whose ends differ by more says nothing."""
FASTER = 0.6
"""No run gets faster than this beside those that were short of memory where it is not, or beside
those on several nodes where it is on one."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Seconds with an interval of 90 %, or why there is none."""

    predicted_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    refused: str = ""

    @property
    def width(self) -> float:
        """High by low."""
        return (self.high_s or math.inf) / (self.low_s or 1.0)

    def stretched(self, low: float, high: float) -> Prediction:
        """The same with the ends of the interval multiplied."""
        return replace(self, low_s=(self.low_s or 0.0) * low, high_s=(self.high_s or 0.0) * high)


def read(path: Path) -> dict[str, Any]:
    """A model file. Errors: `InputError` for anything else."""
    try:
        model = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a model file ({error})") from None
    schema = model.get("schema") if isinstance(model, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path}: a file of schema {schema}, expected {SCHEMA}; fit it anew")
    return dict(model)


def predict(model: Mapping[str, Any], asked: Observed) -> Prediction:
    """What a model file says of one question.

    A question may leave out what all groups of its kind have in common; what no group knows of it,
    such as a note, is not looked at.
    """
    alike, refused = group_of(model, asked)
    return in_group(alike, asked, model["seed"]) if alike else Prediction(refused=refused)


def group_of(model: Mapping[str, Any], asked: Observed) -> tuple[Mapping[str, Any] | None, str]:
    """The one group that a question is about; else None, and why there is none."""
    groups = model["groups"]
    known = {name for one in groups for name in one["group"]}
    given = {name: text for name, text in asked.group.items() if name in known}
    alike = [one for one in groups if given.items() <= one["group"].items()]
    if not alike:
        there = "; ".join(one["name"] for one in groups)
        return None, f"no runs of {asked.key or 'that'}; there are some of: {there}"
    if len(alike) > 1:
        names = sorted({n for one in alike for n in one["group"]} - set(given))
        return None, f"several kinds of runs are meant; add a column {' or '.join(names)}"
    return alike[0], ""


def in_group(
    group: Mapping[str, Any], asked: Observed, seed: int, width_max: float = WIDTH_MAX
) -> Prediction:
    """What the model of a group says of one question of that group."""
    why = group["refused"] or _too_far(group, asked)
    if why:
        return Prediction(refused=why)
    asked = factors.completed(group["range"].get("factors", {}), asked)
    found = estimate(group, asked, seed)
    reach = factors.reach(group, asked, found.predicted_s or 0.0)
    if reach.refused:
        return Prediction(refused=reach.refused)
    if found.width > width_max:
        return Prediction(
            refused=f"forms that fit the runs as well say {found.low_s:.3g} to"
            f" {found.high_s:.3g} s; measure a run with about"
            f" {asked.work:.3g} {asked.unit} for a core"
        )
    return found.stretched(reach.faster, reach.slower)


def estimate(group: Mapping[str, Any], asked: Observed, seed: int) -> Prediction:
    """Seconds with their interval, however far the question lies."""
    import numpy as np

    samples = draws(group, asked, seed)
    nodes = group["range"]["nodes"]
    ratio = max(1.0, asked.nodes / nodes[-1], nodes[0] / asked.nodes)
    random = np.random.default_rng(_seed(seed, asked, "noise"))
    spread = DOUBLING * math.log2(ratio) * random.standard_normal(len(samples))
    samples = samples * np.exp(spread + _noise(group, random, len(samples)))
    tail = (1 - CONFIDENCE) / 2
    low, middle, high = (float(one) for one in np.quantile(samples, [tail, 0.5, 1 - tail]))
    found = Prediction(predicted_s=middle, low_s=low, high_s=high)
    is_alone = asked.nodes == 1 < nodes[0]
    return found.stretched(FASTER, 1.0) if is_alone or _roomier(group, asked) else found


def _noise(
    group: Mapping[str, Any], random: np.random.Generator, count: int
) -> NDArray[np.float64]:
    """Relative errors of one more run: those of the measured ones beside the forms that fit them.

    A form with as many terms as runs leaves none; what is left of few runs is as uncertain as
    Student's distribution has it.
    """
    forms = group["views"]["overall"]
    weight = sum(one["weight"] for one in forms)
    runs = len(group["runs"])
    free = sum(one["weight"] * max(1, runs - len(one["terms"])) for one in forms) / weight
    mean = sum(one["weight"] * one["error"] for one in forms) / weight
    scatter = mean * math.sqrt(runs / free)
    if scatter <= NOISE:
        noise: NDArray[np.float64] = NOISE * random.standard_normal(count)
    else:
        noise = scatter * random.standard_t(max(FREE_LEAST, free), count)
    return noise


def draws(group: Mapping[str, Any], asked: Observed, seed: int) -> NDArray[np.float64]:
    """Seconds by the model of the whole run and by the sum of those of its phases, half each."""
    import numpy as np

    row = values(asked)
    made = {
        name: drawn(candidates(view), row, DRAWS // 2, _seed(seed, asked, name))
        for name, view in group["views"].items()
    }
    overall = made.pop("overall")
    if not made:
        return overall
    return np.concatenate([overall, np.sum(list(made.values()), axis=0)])


def candidates(view: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """As they were before they were written."""
    return [
        Candidate(
            terms=tuple(one["terms"]),
            coefficients=tuple(one["coefficients"]),
            covariance=tuple(tuple(row) for row in one["covariance"]),
            weight=one["weight"],
            error=one["error"],
        )
        for one in view
    ]


def _seed(seed: int, asked: Observed, name: str) -> int:
    """Of its own for every question, whatever others there are."""
    text = f"{seed} {asked.nodes} {asked.cores_per_node} {asked.amount} {name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _too_far(group: Mapping[str, Any], asked: Observed) -> str:
    """Why a question lies outside of what the runs can say; empty where it does not."""
    nodes, work = group["range"]["nodes"], group["range"]["work"]
    if asked.unit != group["unit"]:
        return f"the runs count {group['unit']}, the question {asked.unit}"
    if len(nodes) == 1 and asked.nodes != nodes[0]:
        return f"all runs had {format_count(nodes[0], 'node')}; measure another number of them"
    # In a model file from before, `cores` is not there.
    cores = group["range"].get("cores", [])
    if len(cores) == 1 and asked.cores_per_node != cores[0]:
        each = format_count(cores[0], "core")
        return f"all runs had {each} a node; measure another number of them"
    if asked.nodes > NODES_BEYOND * nodes[-1]:
        return (
            f"{asked.nodes} nodes are more than {NODES_BEYOND:g} times the {nodes[-1]} of the"
            f" largest run; measure at least {math.ceil(asked.nodes / NODES_BEYOND)}"
        )
    if asked.nodes * NODES_BEYOND < nodes[0]:
        return (
            f"the smallest run had {nodes[0]} nodes, more than {NODES_BEYOND:g} times the"
            f" {asked.nodes} of the question; measure at most {asked.nodes * NODES_BEYOND:g}"
        )
    if asked.work > WORK_BEYOND * work[1] or asked.work < work[0] / WORK_BEYOND:
        return (
            f"{asked.work:.3g} {asked.unit} for a core, the runs had {work[0]:.3g} to"
            f" {work[1]:.3g}; measure nearer to it"
        )
    for name, sides in group["range"]["steps"].items():
        if over(asked, STEPS[name]) is True and True not in sides:
            return _no_room(asked, STEPS[name])
    return ""


def _no_room(asked: Observed, copies: int) -> str:
    held = (asked.cache_bytes or 0.0) / 2**30
    needed = copies * (asked.data_bytes or 0.0) / asked.nodes / 2**30
    return (
        f"{'1 copy of the data needs' if copies == 1 else f'{copies} copies of the data need'}"
        f" {needed:.3g} GiB of a"
        f" node's {held:.3g} GiB for cached data, and no run was short of it; measure one"
    )


def _roomier(group: Mapping[str, Any], asked: Observed) -> bool:
    """Whether all runs were short of memory, and this one is not."""
    return any(
        over(asked, STEPS[name]) is False and False not in sides
        for name, sides in group["range"]["steps"].items()
    )
