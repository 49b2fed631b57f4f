"""Reader of runs from run records: a run for each record, with its median time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cuesta.errors import InputError
from cuesta.lab import record as records
from cuesta_lab.model import published, table
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.setting import AMOUNT, setting


def observed(paths: Sequence[Path], left_out: list[str] | None = None) -> list[Observation]:
    """Read runs of CSV files, run records and folders of them, in order.

    Records without a size are left out, and reasons added to `left_out`. Errors: `InputError`,
    also for a wrong answer, and where no record has a size.
    """
    runs: list[Observation] = []
    reasons: list[str] = []
    for path in paths:
        if path.suffix == ".csv":
            runs += table.read(path, timed=True).observed
            continue
        for file in record_files(path):
            record = records.read(file)
            if record["verified"] is False:
                raise InputError(
                    f"{file}: its answer is wrong, so that its time says nothing; leave it out"
                )
            if _amount(record) is None:
                reasons.append(f"{file}: has neither an input nor {AMOUNT}; its size is not known")
            else:
                runs.append(_observed(file, record))
    if reasons and not runs:
        raise InputError(reasons[0])
    if left_out is not None:
        left_out += reasons
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


def _amount(record: records.Record) -> tuple[float, str] | None:
    """Amount of a run with its unit; None if its record has none."""
    bytes_read = sum(entry["bytes"] for entry in record["inputs"])
    if bytes_read:
        return float(bytes_read), "input_bytes"
    blocks = record["parameters"].get(AMOUNT)
    return None if blocks is None else (float(blocks), AMOUNT)


def _observed(path: Path, record: records.Record) -> Observation:
    amount, unit = _amount(record) or (0.0, AMOUNT)
    run_setting = setting(record)
    launches = run_setting.engine.startswith(published.LAUNCHING)
    return Observation(
        group=run_setting.group,
        nodes=run_setting.nodes,
        cores_per_node=run_setting.cores_per_node,
        amount=amount,
        unit=unit,
        data_bytes=amount if unit == "input_bytes" else None,
        tasks=run_setting.nodes * run_setting.cores_per_node if launches else None,
        factors=run_setting.limits,
        seconds=records.engine_seconds(record),
        phases={},
        source=str(path),
    )
