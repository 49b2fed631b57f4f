"""Result of a study, the content of `study.json`: `spec/formats/study.md`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.errors import EngineError, InputError, VerificationError, in_words
from cuesta.lab import record
from cuesta.untrusted import read_json, within
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.measures import PHASE
from cuesta_lab.study.model import Study

SCHEMA = "cuesta.study/2"
FILE_NAME = "study.json"
RUNS = "runs"
"""Folder of the run folders, which have the run records."""

Result = dict[str, Any]


@dataclass(kw_only=True)
class CombinationRuns:
    """Verified runs of a combination so far: in each list a value for each run, in their order."""

    combination: Combination
    left_out: str | None = None
    runs: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    digest: str | None = None
    failed: list[dict[str, Any]] = field(default_factory=list)
    measures: dict[str, list[float]] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=set)
    remarks: dict[str, None] = field(default_factory=dict)

    def fail(self, failed: dict[str, Any]) -> None:
        """Add a failed run; a command that fails once, or answers otherwise, has no time."""
        self.failed.append(failed)
        if self.combination.settings.command:
            self.runs.clear()
            self.started.clear()
            self.measures.clear()

    def add(self, place: str, record: dict[str, Any], measured: dict[str, float]) -> None:
        """Add a run. Errors: `VerificationError` if its answer differs from the earlier ones."""
        digest = record["answer"]["digest"]
        if self.digest not in (None, digest):
            raise VerificationError(f"{place} has another answer than the run before: {digest}")
        self.digest = digest
        self.remarks |= dict.fromkeys(record.get("program", {}).get("remarks", ()))
        self.runs.append(place)
        self.started.append(record["started"])
        earlier = len(self.runs) - 1
        for name in {*self.measures, *measured} - self.uncounted:
            # A phase that another run of these settings had, and this one did not, took no time;
            # a counter that a run lacks was not counted, and is no measure of these runs.
            in_all = name in measured and (name in self.measures or not earlier)
            if in_all or name.startswith(PHASE):
                samples = self.measures.setdefault(name, [0.0] * earlier)
                samples.append(measured.get(name, 0.0))
            else:
                self.uncounted.add(name)
                self.measures.pop(name, None)


def to_cells(results: Iterable[CombinationRuns]) -> list[dict[str, Any]]:
    """Convert the runs of combinations to the cells of a result file."""
    return [
        {
            "levels": dict(cell.combination.levels),
            "runs": cell.runs,
            "started": cell.started,
            "digest": cell.digest,
            "left_out": cell.left_out,
            "failed": cell.failed,
            "measures": cell.measures,
            **({"remarks": list(cell.remarks)} if cell.remarks else {}),
        }
        for cell in results
    ]


def complete_cells(
    cells: Iterable[dict[str, Any]], combined: Iterable[Combination], earlier: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return cells of all combinations: these, else those of `earlier`, else empty ones."""
    known = {_key(cell): cell for cell in [*earlier.get("cells", ()), *cells]}
    empty = to_cells(CombinationRuns(combination=each, left_out=each.left_out) for each in combined)
    return [known.get(_key(cell), cell) for cell in empty]


def _key(cell: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(cell["levels"].items()))


def to_result(study: Study, cells: list[dict[str, Any]], **more: object) -> Result:
    """Make the result of a study; `more` are further fields."""
    return {
        "schema": SCHEMA,
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "paper": study.paper,
        "smoke": study.smoke,
        "seed": study.seed,
        "file": study.file_table,
        "factors": [factor.row for factor in study.factors],
        "cells": cells,
        "claims": list(study.claims),
        "views": list(study.views),
        "phases": list(study.phases),
        "local_phases": list(study.local_phases),
        **more,
    }


def write(result: Result, folder: Path, name: str = FILE_NAME) -> None:
    """Write `study.json`, or a file of another name, atomically."""
    temporary = folder / f".{name}-{os.getpid()}"
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    temporary.write_text(f"{text}\n", encoding="utf-8")
    removal.put(temporary, folder / name)


def read(path: Path) -> Result:
    """Read the result in a folder or file. Errors: `InputError` if there is none."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        loaded = read_json(file)
    except OSError as error:
        raise InputError(f"{file}: no study ({in_words(error)})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not a study ({error}); obtain it again") from None
    if not isinstance(loaded, dict) or loaded.get("schema") != SCHEMA:
        raise InputError(f"{file}: not a study of schema {SCHEMA}; run it again")
    return loaded


def records(places: Iterable[str], folder: Path) -> dict[str, record.Record]:
    """Read the run records at these places of a study's folder that exist."""
    existing = [place for place in places if (within(folder, place) / record.FILE_NAME).is_file()]
    return {place: record.read(folder / place) for place in existing}


def raise_errors(all_runs: list[CombinationRuns]) -> None:
    """Raise the errors of a study, once its result is written.

    Errors: `VerificationError` if an answer was wrong, or two that must be equal differ;
    `EngineError` if a run failed otherwise.
    """
    digests: dict[tuple[object, ...], CombinationRuns] = {}
    for runs in all_runs:
        if runs.digest:
            first = digests.setdefault(runs.combination.answers, runs)
            if first.digest != runs.digest:
                raise VerificationError(
                    f"answers differ: {first.combination.name} {first.digest}, "
                    f"{runs.combination.name} {runs.digest}"
                )
    failed = [(runs.combination.name, row) for runs in all_runs for row in runs.failed]
    for name, row in failed:
        if row["wrong"]:
            raise VerificationError(f"{name}: {row['why']}")
    if failed:
        name, row = failed[0]
        further = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise EngineError(f"{name}: {row['why']}{further}")
