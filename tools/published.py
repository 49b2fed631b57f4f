"""Verdicts by the authors' own data: claims of papers compared with times that authors published.

`spec/published.toml` has the claims, each with the rows that it compares; the file of times itself
is not in the repository, for its licence does not let us redistribute it. `python tools/papers.py
--published CSV` judges them and writes `spec/published.json`: the ratios, and the digest of the
file they are of. Each time is of one run, so that there are no intervals: a claim holds where all
ratios are on its side, one on a figure of the paper where their geometric mean is near it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cuesta.units import format_count
from paperslist import PUBLISHED, PUBLISHED_RESULTS

NEAR = 1.5
"""Factor around the paper's figure within which a ratio agrees with it, if a claim sets none."""
_PAIRING = ("nodes", "scaling")
"""Columns in which the two sides of a ratio agree."""
_KEYS = frozenset(
    {"name", "figures", "finding", "expected", "faster", "than", "where", "over", "by", "under",
     "paper", "near", "exponent"}
)  # fmt: skip

Row = Mapping[str, Any]


def judge(claims: Sequence[Row], rows: Sequence[Row], digest: str) -> dict[str, Any]:
    """Judge all claims by the rows of a file: the content of `spec/published.json`."""
    return {"sha256": digest, "claims": [_judged(claim, rows) for claim in claims]}


def write(path: Path, root: Path) -> None:
    """Judge the claims by a file of published times, and write the verdicts."""
    content = path.read_bytes()
    rows = list(csv.DictReader(content.decode("utf-8").splitlines()))
    listed = tomllib.loads((root / PUBLISHED).read_text("utf-8"))
    result = judge(listed["claim"], rows, hashlib.sha256(content).hexdigest())
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (root / PUBLISHED_RESULTS).write_text(f"{text}\n", encoding="utf-8")


def problems(root: Path) -> Iterator[str]:
    """Faults of the claims and their verdicts, a line each."""
    if not (root / PUBLISHED).is_file():
        return
    listed = tomllib.loads((root / PUBLISHED).read_text("utf-8"))
    stored: dict[str, Row] = {}
    if (root / PUBLISHED_RESULTS).is_file():
        result = json.loads((root / PUBLISHED_RESULTS).read_text("utf-8"))
        if result["sha256"] != listed["sha256"]:
            yield f"{PUBLISHED_RESULTS}: is of another file than {PUBLISHED} names"
        stored = {claim["name"]: claim for claim in result["claims"]}
    for claim in listed["claim"]:
        unknown = sorted(claim.keys() - _KEYS)
        if unknown:
            yield f"{PUBLISHED}: claim {claim['name']}: {unknown[0]} is not known"
        elif any(stored.get(claim["name"], {}).get(key) != value for key, value in claim.items()):
            yield f"{PUBLISHED}: claim {claim['name']} is not judged; run --published CSV"


def _judged(claim: Row, rows: Sequence[Row]) -> dict[str, Any]:
    if "exponent" in claim:
        values = _powers(claim, rows)
        low, high = claim["exponent"]
        what, wanted = "overall time by nodes, as a power", f"{low:g} to {high:g}"
    else:
        values = _ratios(claim, rows)
        what = f"overall time of {_named(claim['than'])} by that of {_named(claim['faster'])}"
        low, high = claim.get("by", 1.0), claim.get("under", math.inf)
        wanted = f"more than {low:g}" + (f" and less than {high:g}" if high < math.inf else "")
        if "paper" in claim:
            near = claim.get("near", NEAR)
            low, high = claim["paper"] / near, claim["paper"] * near
            wanted = f"the paper's {claim['paper']:g}, within a factor {near:g}"
    if not values:
        raise ValueError(f"{PUBLISHED}: claim {claim['name']}: no rows to compare")
    mean = math.exp(sum(map(math.log, values.values())) / len(values)) if "paper" in claim else 0.0
    compared = [mean] if mean else values.values()
    holds = all(low <= value <= high for value in compared)
    ends = sorted(values.values())
    span = f"{ends[0]:.3g} to {ends[-1]:.3g}" if len(ends) > 1 else f"{ends[0]:.3g}"
    each = ", ".join(f"{value:.3g} ({name})" for name, value in values.items())
    return {
        **claim,
        "verdict": "holds" if holds else "does not hold",
        "values": {name: float(f"{value:.4g}") for name, value in values.items()},
        "said": f"{what[:1].upper()}{what[1:]}: {span}{f', on average {mean:.3g}' if mean else ''};"
        f" {each}; claimed: {wanted}. One run each.",
    }


def _ratios(claim: Row, rows: Sequence[Row]) -> dict[str, float]:
    """Ratios of the two sides in rows that agree in nodes and scaling."""
    where = claim.get("where", {})
    lower = {_key(row): row for row in _matching(rows, {**where, **claim["faster"]})}
    ratios = {}
    for row in _matching(rows, {**where, **claim["than"]}):
        if _key(row) in lower:
            nodes, scaling = _key(row)
            count = format_count(int(nodes), "node")
            name = f"{row['machine']}, {row['engine']}, {count}, {scaling}"
            ratios[name] = float(row["overall_s"]) / float(lower[_key(row)]["overall_s"])
    return ratios


def _powers(claim: Row, rows: Sequence[Row]) -> dict[str, float]:
    """Power of the nodes with which the time goes from the fewest to the most, by engine."""
    by_engine: dict[str, list[tuple[int, float]]] = {}
    for row in _matching(rows, claim["where"]):
        pair = int(row["nodes"]), float(row["overall_s"])
        by_engine.setdefault(f"{row['machine']}, {row['engine']}", []).append(pair)
    powers = {}
    for engine, pairs in by_engine.items():
        (few, before), (many, after) = min(pairs), max(pairs)
        if many > few:
            name = f"{engine}, {few} to {many} nodes"
            powers[name] = math.log(after / before) / math.log(many / few)
    return powers


def _matching(rows: Sequence[Row], wanted: Row) -> list[Row]:
    return [
        row
        for row in rows
        if all(
            row[name] in (level if isinstance(level, list) else [level])
            for name, level in wanted.items()
        )
    ]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in _PAIRING)


def _named(side: Row) -> str:
    """Levels of a side in words."""
    levels = side.values()
    return ", ".join(" and ".join(x) if isinstance(x, list) else str(x) for x in levels)
