"""Sums of terms that describe a set of runs, their weights, and their predictions of other runs.

Every set of terms is fitted by least squares of relative errors; sets with a coefficient that is
negative or beyond what is physical are dropped. The best of the rest is the non-negative least
squares solution (it is the plain solution on its own terms). With few runs several sets fit about
as well and disagree far away, so all are retained with a weight: the likelihood at the noise of a
single run, times a penalty for each term, times the prior (`Term.prior`). A prediction draws sets
by their weight and coefficients by their covariance, so that its interval covers both the noise and
the uncertainty of the form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuesta_lab.model.terms import BY_WORK, OF_PAIRS, OF_WORK, TERMS, WORK, term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NOISE = 0.06
"""Relative standard deviation of a single run: 20 repeats of the study's ancestor had maxima 1.06
to 1.22 times their median."""
TERMS_MAX = 5
WEIGHT_MIN = 1e-3
WITHOUT_WORK = 0.1
"""Weight of a set that does not grow with the data: a constant fits equal sizes as well as work."""
_DEPENDENT = 1e-9


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A fitted set of terms.

    Attributes
    ----------
    covariance
        Covariance of the coefficients, row by row.
    error
        Root mean square of the relative errors.
    """

    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    weight: float
    error: float


def fitted(rows: Sequence[Mapping[str, float]], seconds: Sequence[float]) -> list[Candidate]:
    """Fit all sets of terms; candidates by falling weight, none if no set fits at all.

    `rows` has the values of the terms of each run, `seconds` its time above zero.
    """
    import numpy as np

    times = np.asarray(seconds, dtype=float)
    usable = _usable(rows)
    columns = {name: np.array([row[name] for row in rows]) / times for name in usable}
    fits = []
    for count in range(1, min(len(rows), TERMS_MAX) + 1):
        for names in itertools.combinations(usable, count):
            if not OF_WORK.isdisjoint(names) and WORK.isdisjoint(names):
                continue  # Slower or repeated work needs a term of work.
            fit = _candidate(names, np.stack([columns[name] for name in names], axis=1))
            if fit:
                # Work of pairs grows with their square, however few sizes show it.
                is_likely = OF_PAIRS.isdisjoint(usable) or not OF_PAIRS.isdisjoint(names)
                fits.append(fit if is_likely else (fit[0] + math.log(WITHOUT_WORK), fit[1]))
    if not fits:
        return []
    best = max(weight for weight, _ in fits)
    weights = [math.exp(weight - best) for weight, _ in fits]
    total = sum(weights)
    candidates = [
        Candidate(**{**fields, "weight": weight / total})
        for weight, (_, fields) in zip(weights, fits, strict=True)
        if weight / total >= WEIGHT_MIN
    ]
    return sorted(candidates, key=lambda candidate: (-candidate.weight, candidate.terms))


def _usable(rows: Sequence[Mapping[str, float]]) -> list[str]:
    """Terms that all runs have and that are not proportional to the work."""
    import numpy as np

    work = np.array([row["work"] for row in rows])
    usable = []
    for entry in TERMS:
        if any(entry.name not in row for row in rows):
            continue
        column = np.array([row[entry.name] for row in rows])
        ratio = column / work
        like_work = entry.name != "work" and np.ptp(ratio) <= _DEPENDENT * ratio.max()
        if column.any() and (entry.name == "constant" or not like_work):
            usable.append(entry.name)
    return usable


def _candidate(names: tuple[str, ...], design: Array) -> tuple[float, dict[str, Any]] | None:
    """Fit these terms: log weight and fields; None if the coefficients are impossible."""
    import numpy as np

    runs, count = design.shape
    scale = np.abs(design).max(axis=0)
    solution, _, rank, _ = np.linalg.lstsq(design / scale, np.ones(runs), rcond=_DEPENDENT)
    if rank < count:
        return None
    coefficients = solution / scale
    limits = [term(name).largest for name in names]
    if (coefficients <= 0).any() or (coefficients > limits).any():
        return None
    squares = float(((design @ coefficients - 1) ** 2).sum())
    variance = max(NOISE**2, squares / (runs - count) if runs > count else 0.0)
    inverse = np.linalg.inv((design / scale).T @ (design / scale)) / np.outer(scale, scale)
    weight = -squares / (2 * NOISE**2) - count / 2 * math.log(max(runs, 3))
    weight += sum(math.log(term(name).prior) for name in names)
    if not BY_WORK.intersection(names):
        weight += math.log(WITHOUT_WORK)
    return weight, {
        "terms": names,
        "coefficients": tuple(coefficients.tolist()),
        "covariance": tuple(tuple(row) for row in (variance * inverse).tolist()),
        "error": math.sqrt(squares / runs),
    }


def draw_seconds(
    candidates: Sequence[Candidate], row: Mapping[str, float], draws: int, seed: int
) -> Array:
    """Draw `draws` times of a run in seconds, without the noise of the run itself.

    Coefficients drawn below zero, or beyond what is physical, are clipped.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    weights = np.array([candidate.weight for candidate in candidates])
    counts = random.multinomial(draws, weights / weights.sum())
    parts = []
    for candidate, count in zip(candidates, counts, strict=True):
        mean = np.array(candidate.coefficients)
        scale = np.maximum(mean, 1e-300)
        spread = np.array(candidate.covariance) / np.outer(scale, scale)
        root = np.linalg.cholesky(spread + 1e-12 * np.eye(len(mean)))
        limits = [term(name).largest for name in candidate.terms]
        sampled = mean + scale * (random.standard_normal((count, len(mean))) @ root.T)
        sampled = np.clip(sampled, 0.0, limits)
        parts.append(sampled @ np.array([row.get(name, 0.0) for name in candidate.terms]))
    shuffled = np.concatenate(parts)
    random.shuffle(shuffled)
    return shuffled
