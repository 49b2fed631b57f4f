"""Reader of runs from run records: a run for each record, with its median time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cuesta.errors import InputError
from cuesta.lab import record as records
from cuesta_lab.model import published, table
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.setting import AMOUNT, setting


def observed(paths: Sequence[Path]) -> list[Observation]:
    """Read runs of CSV files, run records and folders of them, in order. Errors: `InputError`."""
    runs: list[Observation] = []
    for path in paths:
        if path.suffix == ".csv":
            runs += table.read(path, timed=True).observed
        else:
            runs += [_observed(file) for file in record_files(path)]
    return runs


def record_files(path: Path) -> Iterator[Path]:
    """Yield the record files below a path, without those of unfinished runs."""
    if not path.is_dir():
        yield path
        return
    files = sorted(path.rglob(records.FILE_NAME))
    if not files:
        raise InputError(f"{path}: has no {records.FILE_NAME} in it or below; give run records")
    yield from (file for file in files if ".partial-" not in str(file))


def _observed(path: Path) -> Observation:
    record = records.read(path)
    if record["verified"] is False:
        raise InputError(
            f"{path}: its answer is wrong, so that its time says nothing; leave it out"
        )
    parameters = record["parameters"]
    bytes_read = sum(entry["bytes"] for entry in record["inputs"])
    if not bytes_read and AMOUNT not in parameters:
        raise InputError(f"{path}: has neither an input nor {AMOUNT}; its size is not known")
    amount, unit = (bytes_read, "input_bytes") if bytes_read else (parameters[AMOUNT], AMOUNT)
    run_setting = setting(record)
    launches = run_setting.engine.startswith(published.LAUNCHING)
    return Observation(
        group=run_setting.group,
        nodes=run_setting.nodes,
        cores_per_node=run_setting.cores_per_node,
        amount=float(amount),
        unit=unit,
        data_bytes=float(bytes_read) if bytes_read else None,
        tasks=run_setting.nodes * run_setting.cores_per_node if launches else None,
        factors=run_setting.limits,
        seconds=float(record["statistics"]["wall_seconds"]["median"]),
        phases={},
        source=str(path),
    )
