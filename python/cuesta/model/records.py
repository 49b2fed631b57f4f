"""Runs out of run records: one for each record, at its median."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.lab import record as records
from cuesta.model import published, table
from cuesta.model.observed import Observed
from cuesta.units import parse_rate, parse_size

_AMOUNT = "blocks"
"""The parameter that says how much there is to do where a run makes its own input."""
_NOT_OF_A_GROUP = ("seed", _AMOUNT)


def observed(paths: Sequence[Path]) -> list[Observed]:
    """Runs of CSV files, run records, and folders of them, in this order. Errors: `InputError`."""
    found: list[Observed] = []
    for path in paths:
        if path.suffix == ".csv":
            found += table.read(path, timed=True).observed
        else:
            found += [_observed(file) for file in record_files(path)]
    return found


def record_files(path: Path) -> Iterator[Path]:
    """The record files below a path; folders that are not finished have another name."""
    if not path.is_dir():
        yield path
        return
    files = sorted(path.rglob(records.FILE_NAME))
    if not files:
        raise InputError(f"{path}: has no {records.FILE_NAME} in it or below; give run records")
    yield from (file for file in files if ".partial-" not in str(file))


def _observed(path: Path) -> Observed:
    record = records.read(path)
    if record["verified"] is False:
        raise InputError(
            f"{path}: its answer is wrong, so that its time says nothing; leave it out"
        )
    parameters: dict[str, Any] = record["parameters"]
    bytes_read = sum(one["bytes"] for one in record["inputs"])
    if not bytes_read and _AMOUNT not in parameters:
        raise InputError(f"{path}: has neither an input nor {_AMOUNT}; its size is not known")
    amount, unit = (bytes_read, "input_bytes") if bytes_read else (parameters[_AMOUNT], _AMOUNT)
    kept = {name: value for name, value in parameters.items() if name not in _NOT_OF_A_GROUP}
    engine = str(record["engine"])
    nodes = int(record.get("nodes") or 1)
    cores = record["threads"] or record["machine"].get("cores_usable") or 1
    cores = max(1, int(cores) // nodes)
    return Observed(
        group={
            "machine": str(record["machine"].get("cpu", "")),
            "workload": str(record["workload"]),
            "engine": engine,
            "parameters": json.dumps(kept, sort_keys=True),
        },
        nodes=nodes,
        cores_per_node=cores,
        amount=float(amount),
        unit=unit,
        data_bytes=float(bytes_read) if bytes_read else None,
        tasks=nodes * cores if engine.startswith(published.LAUNCHING) else None,
        factors=_factors(record),
        seconds=float(record["statistics"]["wall_seconds"]["median"]),
        phases={},
        source=str(path),
    )


def _factors(record: Mapping[str, Any]) -> dict[str, float]:
    """Numbers of a node that a model may use: its limit of memory, the rates it was held to."""
    asked = (record.get("machine_factors") or {}).get("asked", {})
    found: dict[str, float] = {}
    memory = [record["memory_bytes"], _size(asked.get("memory-group"))]
    if any(memory):
        found["memory_bytes"] = float(min(one for one in memory if one))
    if "disk-rate" in asked:
        count = int(asked.get("disks", 1))
        found["disk_bytes_per_s"] = count * parse_rate(str(asked["disk-rate"]), "disk-rate")
    if "link-rate" in asked:
        found["link_bytes_per_s"] = parse_rate(f"{asked['link-rate']}/s", "link-rate")
    return found


def _size(text: object) -> int | None:
    return None if text is None else parse_size(str(text), "memory-group")
