"""Reader of a CSV of runs or questions: a line each, seconds in columns that end in `_s`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import InputError, in_words
from cuesta.untrusted import read_text
from cuesta_lab.model import published
from cuesta_lab.model.observed import Observation

AMOUNTS = ("blocks", "input_bytes", "rows")
"""Columns for the amount of work; the first present one counts."""

TOTALS = ("overall_s", "wall_s")
_SHAPES = ("nodes", "cores_per_node")
_NUMBERS = ("tasks", "heap_gib", "memory_bytes", "disk_bytes_per_s", "link_bytes_per_s")
_IGNORED = ("scaling", "repeat", "predicted_s", "low_s", "high_s", "refused")
"""Columns that follow from other columns, and columns that a prediction adds."""
_OTHER_UNITS = ("_ms", "_us", "_min", "_h", "_seconds", "_sec")
_NOT_CACHED = ("", "0", "0.0", "no", "false")
_PHASES_BEYOND = 2.0
"""Largest ratio of the sum of phases to the run's time: phases overlap a little, a larger sum is a
mistake of units."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns and lines of a CSV, and the runs or questions in them."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, str]]
    observed: Sequence[Observation]


def read(path: Path, *, timed: bool) -> Table:
    """Read the runs in a CSV; with `timed`, each must have its time. Errors: `InputError`."""
    try:
        text = read_text(path).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a CSV in UTF-8; save it as one") from None
    except OSError as error:
        raise InputError(f"{path}: {in_words(error)}") from None
    reader = csv.DictReader(text.splitlines())
    columns = list(reader.fieldnames or ())
    _check_columns(path, columns, timed=timed)
    rows = list(reader)
    if not rows:
        raise InputError(f"{path}: has no run below its names of columns; add some")
    observed = [
        _observed(f"{path.name}: line {number}", row, timed=timed)
        for number, row in enumerate(rows, start=2)
    ]
    return Table(columns=columns, rows=rows, observed=observed)


def question(place: str, row: Mapping[str, str]) -> Observation:
    """Parse a question from its columns; `place` names it in errors. Errors: `InputError`."""
    return _observed(place, row, timed=False)


def from_runs(observed: Sequence[Observation]) -> Table:
    """Make a table of runs from another source."""
    columns: list[str] = ["source"]
    rows = []
    for run in observed:
        row = {
            "source": run.source,
            **run.group,
            "nodes": str(run.nodes),
            "cores_per_node": str(run.cores_per_node),
            run.unit: f"{run.amount:g}" if run.amount < 1e6 else f"{run.amount:.0f}",
            **{name: f"{value:.0f}" for name, value in run.factors.items()},
            TOTALS[0]: "" if run.seconds is None else f"{run.seconds:.6g}",
        }
        columns += [name for name in row if name not in columns]
        rows.append(row)
    return Table(
        columns=columns, rows=[dict.fromkeys(columns, "") | row for row in rows], observed=observed
    )


def _check_columns(path: Path, columns: Sequence[str], *, timed: bool) -> None:
    missing = [name for name in _SHAPES if name not in columns]
    if not any(name in columns for name in AMOUNTS):
        missing.append(" or ".join(AMOUNTS))
    if timed and not any(name in columns for name in TOTALS):
        missing.append(f"{TOTALS[0]}, the seconds of the whole run")
    for name in columns:
        unit = next((end for end in _OTHER_UNITS if name.endswith(end)), None)
        if unit:
            stem = name.removesuffix(unit)
            raise InputError(f"{path}: column {name}: give seconds in a column {stem}_s")
    if missing:
        raise InputError(f"{path}: has no column {'; no column '.join(missing)}")


def _observed(place: str, row: Mapping[str, str | None], *, timed: bool) -> Observation:
    """Parse a line; `place` names it in errors."""
    if None in row or None in row.values():
        raise InputError(
            f"{place}: has not as many fields as there are names of columns; complete it"
        )
    words = {name: (text or "").strip() for name, text in row.items()}
    amount = next(name for name in AMOUNTS if name in words)
    numbers = {
        name: _number(place, name, words[name])
        for name in (*_SHAPES, amount, *_NUMBERS)
        if words.get(name, "") != "" or name in (*_SHAPES, amount)
    }
    group = {name: text for name, text in words.items() if _names_a_group(name)}
    if "cached" in group:
        group["cached"] = str(int(group["cached"].lower() not in _NOT_CACHED))
    total = next((name for name in TOTALS if words.get(name)), None)
    if timed and total is None:
        raise InputError(f"{place}: has no {TOTALS[0]}; leave out runs that did not end")
    phases = _phases(place, words) if timed else {}
    seconds = _number(place, total, words[total]) if total else None
    if timed and seconds and sum(phases.values()) > _PHASES_BEYOND * seconds:
        raise InputError(
            f"{place}: phases add up to {sum(phases.values()):.4g} s, the whole run took"
            f" {seconds:.4g} s; are all columns in seconds?"
        )
    return Observation(
        group=group,
        nodes=_integer(place, "nodes", numbers["nodes"]),
        cores_per_node=_integer(place, "cores_per_node", numbers["cores_per_node"]),
        amount=numbers[amount],
        unit=amount,
        data_bytes=_data_bytes(amount, numbers[amount]),
        cache_bytes=_cache_bytes(group, numbers),
        tasks=_tasks(group, numbers),
        factors={name: numbers[name] for name in _NUMBERS[2:] if name in numbers},
        seconds=seconds,
        phases=phases,
        source=place,
    )


def _names_a_group(name: str) -> bool:
    known = (*_SHAPES, *AMOUNTS, *_NUMBERS, *_IGNORED, *TOTALS)
    return name not in known and not name.endswith("_s")


def _phases(place: str, words: Mapping[str, str]) -> dict[str, float]:
    """Seconds of columns that end in `_s`, except the total, rates and a prediction's columns."""
    not_phases = (*TOTALS, *_NUMBERS, *_IGNORED)
    names = [name for name in words if name.endswith("_s") and name not in not_phases]
    for name in names:
        if not words[name]:
            raise InputError(f"{place}: phase {name} is missing; give all phases, or none of it")
    return {name.removesuffix("_s"): _number(place, name, words[name], zero=True) for name in names}


def _data_bytes(unit: str, amount: float) -> float | None:
    if unit == "blocks":
        return amount * published.BLOCK_BYTES
    return amount if unit == "input_bytes" else None


def _cache_bytes(group: Mapping[str, str], numbers: Mapping[str, float]) -> float | None:
    """Memory for cached data; None for a run that caches nothing."""
    if group.get("cached", "0") == "0":
        return None
    heap = numbers["heap_gib"] * 2**30 if "heap_gib" in numbers else None
    if heap is None and group.get("machine") in published.MACHINES:
        heap = published.HEAPS_BYTES.get(group.get("engine", ""))
    return None if heap is None else published.cache_bytes(heap)


def _tasks(group: Mapping[str, str], numbers: Mapping[str, float]) -> int | None:
    if not group.get("engine", "").startswith(published.LAUNCHING):
        return None
    return int(numbers.get("tasks", numbers["nodes"] * numbers["cores_per_node"]))


def _number(place: str, name: str, text: str, *, zero: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{place}: {name} is {text!r}, not a number; correct it") from None
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise InputError(f"{place}: {name} is {text}, which no run can have; correct it")
    return value


def _integer(place: str, name: str, value: float) -> int:
    if value != int(value):
        raise InputError(f"{place}: {name} is {value:g}, not a whole number; correct it")
    return int(value)


def write(path: Path, columns: Sequence[str], rows: Iterator[Mapping[str, str]]) -> None:
    """Write lines with these columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
