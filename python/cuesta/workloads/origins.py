"""Facts of lists of gene pairs by the records of the runs that made them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuesta.trial import is_remote

_DEPTH = 8
"""Limit of the chain of records that is followed."""

_MAKERS = ("correlate", "scan", "load")
"""Workloads whose answers are lists of gene pairs."""


def cut_of(path: str) -> float:
    """Return the threshold below which a list has no pairs; 0 without a record of one."""
    cuts = [threshold_of(record["parameters"]) for record in _records(path)]
    weakest = [record["answer"]["counts"].get("least_millionths") for record in _records(path)]
    return max([0.0, *cuts, *(count / 1e6 for count in weakest if isinstance(count, int))])


def method_of(path: str) -> str:
    """Return the correlation that the scores of a list are; empty without a record of it."""
    records = [record for record in _records(path) if record["workload"] == "correlate"]
    return str(records[-1]["parameters"].get("method", "")) if records else ""


def threshold_of(parameters: Mapping[str, Any]) -> float:
    """Return the threshold of a run; 0 without one."""
    try:
        number = float(str(parameters.get("min_abs_score")))
    except ValueError:
        return 0.0
    return number if 0.0 <= number <= 1.0 else 0.0


def _records(path: str) -> list[Mapping[str, Any]]:
    """Return the records of the runs that made a list, the last one first."""
    records: list[Mapping[str, Any]] = []
    places = [path]
    while places and len(records) < _DEPTH:
        place = places.pop()
        record = None if is_remote(place) else _record_of(Path(place))
        if record is None:
            continue
        records.append(record)
        if record["workload"] != "correlate":
            places += [str(row["path"]) for row in record["inputs"]]
    return records


def _record_of(path: Path) -> Mapping[str, Any] | None:
    """Return the record of a list of pairs, which is a file of an answer or its folder."""
    for folder in (path, path.parent):
        try:
            read: Any = json.loads((folder / "run.json").read_bytes())
            record: Mapping[str, Any] = read
            names = [str(file["name"]).split("/")[0] for file in record["answer"]["files"]]
            if folder != path and path.name not in names:
                continue
            if record["workload"] not in _MAKERS:
                return None
            # All that is read of a record, so that a damaged one is none.
            record["parameters"].get("method")
            record["answer"]["counts"].get("least_millionths")
            [str(row["path"]) for row in record["inputs"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        return record
    return None
