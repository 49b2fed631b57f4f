"""Which sums of terms describe some runs, with how much weight, and what they say of another run.

Every set of terms is fitted by least squares of relative errors; sets with a coefficient that is
negative or beyond what is physical are dropped. The best of the rest is the non-negative least
squares solution (it is the plain solution on its own terms). With few runs several sets fit about
as well and disagree far away, so all are kept with a weight: the likelihood at the noise of a
single run, times a price for each term, times what is likely before (`Term.prior`). A prediction
draws sets by their weight and coefficients by their covariance, so that its interval has both what
noise does and what we do not know of the form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuesta.model.terms import BY_WORK, OF_PAIRS, OF_WORK, TERMS, WORK, term

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
    """One set of terms, fitted.

    Attributes
    ----------
    covariance
        Of the coefficients, row by row.
    error
        Root mean square of relative errors.
    """

    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    weight: float
    error: float


def fitted(rows: Sequence[Mapping[str, float]], seconds: Sequence[float]) -> list[Candidate]:
    """Candidates by falling weight; none where no set of terms fits at all.

    `rows` has the values of the terms of each run, `seconds` its time above zero.
    """
    import numpy as np

    times = np.asarray(seconds, dtype=float)
    usable = _usable(rows)
    columns = {name: np.array([row[name] for row in rows]) / times for name in usable}
    found = []
    for count in range(1, min(len(rows), TERMS_MAX) + 1):
        for names in itertools.combinations(usable, count):
            if not OF_WORK.isdisjoint(names) and WORK.isdisjoint(names):
                continue  # What is slower, or done again, is done.
            one = _candidate(names, np.stack([columns[name] for name in names], axis=1))
            if one:
                # Work of pairs grows with their square, however few sizes show it.
                is_likely = OF_PAIRS.isdisjoint(usable) or not OF_PAIRS.isdisjoint(names)
                found.append(one if is_likely else (one[0] + math.log(WITHOUT_WORK), one[1]))
    if not found:
        return []
    best = max(weight for weight, _ in found)
    weights = [math.exp(weight - best) for weight, _ in found]
    total = sum(weights)
    kept = [
        Candidate(**{**fields, "weight": weight / total})
        for weight, (_, fields) in zip(weights, found, strict=True)
        if weight / total >= WEIGHT_MIN
    ]
    return sorted(kept, key=lambda one: (-one.weight, one.terms))


def _usable(rows: Sequence[Mapping[str, float]]) -> list[str]:
    """Terms that all runs have and that tell them apart from work alone."""
    import numpy as np

    work = np.array([row["work"] for row in rows])
    kept = []
    for one in TERMS:
        if any(one.name not in row for row in rows):
            continue
        column = np.array([row[one.name] for row in rows])
        ratio = column / work
        like_work = one.name != "work" and np.ptp(ratio) <= _DEPENDENT * ratio.max()
        if column.any() and (one.name == "constant" or not like_work):
            kept.append(one.name)
    return kept


def _candidate(names: tuple[str, ...], design: Array) -> tuple[float, dict[str, Any]] | None:
    """Log weight and fields of the fit of these terms; None where they are not possible."""
    import numpy as np

    runs, count = design.shape
    scale = np.abs(design).max(axis=0)
    found, _, rank, _ = np.linalg.lstsq(design / scale, np.ones(runs), rcond=_DEPENDENT)
    if rank < count:
        return None
    coefficients = found / scale
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


def drawn(
    candidates: Sequence[Candidate], row: Mapping[str, float], draws: int, seed: int
) -> Array:
    """Seconds of one run, `draws` times, without the noise of the run itself.

    Coefficients that are drawn below zero, or beyond what is physical, are brought back.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    weights = np.array([one.weight for one in candidates])
    counts = random.multinomial(draws, weights / weights.sum())
    parts = []
    for one, count in zip(candidates, counts, strict=True):
        mean = np.array(one.coefficients)
        scale = np.maximum(mean, 1e-300)
        spread = np.array(one.covariance) / np.outer(scale, scale)
        root = np.linalg.cholesky(spread + 1e-12 * np.eye(len(mean)))
        limits = [term(name).largest for name in one.terms]
        taken = mean + scale * (random.standard_normal((count, len(mean))) @ root.T)
        taken = np.clip(taken, 0.0, limits)
        parts.append(taken @ np.array([row.get(name, 0.0) for name in one.terms]))
    shuffled = np.concatenate(parts)
    random.shuffle(shuffled)
    return shuffled
