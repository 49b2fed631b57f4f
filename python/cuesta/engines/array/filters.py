"""Filters of rows, as query conditions of TileDB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MICRO = 1_000_000
LIMIT = 2_000_000_000
"""Largest score; scores are integers in millionths. A missing score is below -`LIMIT`."""

NAN = -(2**31)

PARAMETERS = (
    "min_abs_score",
    "max_abs_score",
    "score_index",
    "min_cluster_samples",
    "max_missing",
)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Bounds in the units of the array, both ends included."""

    score_index: int
    least: int
    most: int
    min_cluster_samples: int
    max_missing: int | None

    @property
    def score(self) -> str:
        """Attribute with the score that is filtered."""
        return f"score{self.score_index}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Attributes in the condition."""
        is_used = {
            self.score: self._bounds_scores(),
            "cluster_samples": self.min_cluster_samples > 0,
            "missing": self.max_missing is not None,
        }
        return tuple(name for name, used in is_used.items() if used)

    def condition(self) -> str | None:
        """Return the condition for rows that have a score, None when all of them pass."""
        terms = [self._scores()] if self._bounds_scores() else []
        if self.min_cluster_samples > 0:
            terms.append(f"cluster_samples >= {self.min_cluster_samples}")
        if self.max_missing is not None:
            terms.append(f"missing <= {self.max_missing}")
        return " and ".join(terms) or None

    def _bounds_scores(self) -> bool:
        return self.least > 0 or self.most < LIMIT

    def _scores(self) -> str:
        """Return a condition of two ranges, on both sides of zero, without the missing score."""
        score, least, most = self.score, self.least, self.most
        if least <= 0:
            return f"({score} >= {-most} and {score} <= {most})"
        above = f"({score} >= {least} and {score} <= {most})"
        below = f"({score} >= {-most} and {score} <= {-least})"
        return f"({above} or {below})"


def make_filter(parameters: Mapping[str, Any]) -> Filter:
    """Make the filter of checked parameters, rounded to millionths as in the native engine."""
    most = parameters.get("max_abs_score")
    return Filter(
        score_index=parameters.get("score_index") or 0,
        least=min(math.ceil((parameters.get("min_abs_score") or 0.0) * MICRO - 1e-6), LIMIT),
        most=LIMIT if most is None else min(math.floor(most * MICRO + 1e-6), LIMIT),
        min_cluster_samples=parameters.get("min_cluster_samples") or 0,
        max_missing=parameters.get("max_missing"),
    )


def filter_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the filter alone, for the native module."""
    values = {name: parameters.get(name) for name in PARAMETERS}
    return {name: value for name, value in values.items() if value is not None}
