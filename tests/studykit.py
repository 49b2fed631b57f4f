"""Synthetic results of studies."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Levels = Mapping[str, str]


def factor(name: str, levels: Sequence[str], values: Sequence[float] = ()) -> dict[str, Any]:
    """Return a factor in the form of `study.json`; `values` put its levels on an axis."""
    padded = [*values, *[None] * (len(levels) - len(values))]
    rows = [
        {"name": level, "title": level, "value": value}
        for level, value in zip(levels, padded, strict=True)
    ]
    return {"name": name, "title": name, "unit": "", "levels": rows}


def result(
    factors: Sequence[dict[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    samples: Callable[[Levels], Mapping[str, Sequence[float]]],
) -> dict[str, Any]:
    """Return a `study.json` whose cells have the values of `samples` for their levels."""
    names = [[level["name"] for level in axis["levels"]] for axis in factors]
    cells: list[dict[str, Any]] = []
    for combination_levels in itertools.product(*names):
        levels = {
            axis["name"]: level for axis, level in zip(factors, combination_levels, strict=True)
        }
        measures = {name: list(values) for name, values in samples(levels).items()}
        cells.append(
            {
                "levels": levels,
                "runs": [],
                "digest": None,
                "left_out": None,
                "failed": [],
                "measures": measures,
            }
        )
    return {
        "schema": "cuesta.study/2",
        "name": "made-up",
        "title": "Made up",
        "question": "",
        "paper": "000",
        "smoke": False,
        "seed": 1,
        "file": {"claim": [dict(claim) for claim in claims]},
        "factors": list(factors),
        "cells": cells,
        "claims": [],
    }


def claim(**keys: Any) -> dict[str, Any]:
    """Return a claim with the texts that it needs."""
    return {"name": "one", "finding": "found", "expected": "as much", **keys}
