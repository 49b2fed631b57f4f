"""What a study has found, as `study.json` has it: `spec/formats/study.md`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.errors import EngineError, InputError, VerificationError
from cuesta.lab import record
from cuesta.lab.study.cells import Combination
from cuesta.lab.study.model import Study
from cuesta.untrusted import within

SCHEMA = "cuesta.study/2"
FILE_NAME = "study.json"
RUNS = "runs"
"""Folder of the answer folders, of which the records are kept."""

Result = dict[str, Any]


@dataclass(kw_only=True)
class Found:
    """What came of one combination so far: a value a run that was verified, in their order."""

    combination: Combination
    left_out: str | None = None
    runs: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    digest: str | None = None
    failed: list[dict[str, Any]] = field(default_factory=list)
    measures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, place: str, record: dict[str, Any], measured: dict[str, float]) -> None:
        """Take in a run. Errors: `VerificationError` where its answer is not that of the others."""
        digest = record["answer"]["digest"]
        if self.digest not in (None, digest):
            raise VerificationError(f"{place} has another answer than the run before: {digest}")
        self.digest = digest
        self.runs.append(place)
        self.started.append(record["started"])
        for name, value in measured.items():
            # A measure that a run lacks, such as a phase that was not needed, took nothing.
            samples = self.measures.setdefault(name, [0.0] * (len(self.runs) - 1))
            samples.append(value)
        for name in self.measures.keys() - measured.keys():
            self.measures[name].append(0.0)


def to_cells(results: Iterable[Found]) -> list[dict[str, Any]]:
    """Results of combinations, as they are written."""
    return [
        {
            "levels": dict(cell.combination.levels),
            "runs": cell.runs,
            "started": cell.started,
            "digest": cell.digest,
            "left_out": cell.left_out,
            "failed": cell.failed,
            "measures": cell.measures,
        }
        for cell in results
    ]


def completed(
    cells: Iterable[dict[str, Any]], combined: Iterable[Combination], earlier: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The cells of all combinations: these, else those of `earlier`, else empty ones."""
    known = {_key(cell): cell for cell in [*earlier.get("cells", ()), *cells]}
    empty = to_cells(Found(combination=each, left_out=each.left_out) for each in combined)
    return [known.get(_key(cell), cell) for cell in empty]


def _key(cell: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(cell["levels"].items()))


def to_result(study: Study, cells: list[dict[str, Any]], **more: object) -> Result:
    """The result of a study; `more` is what else there is to tell of the whole."""
    return {
        "schema": SCHEMA,
        "name": study.name,
        "title": study.title,
        "question": study.question,
        "paper": study.paper,
        "smoke": study.smoke,
        "seed": study.seed,
        "file": study.given,
        "factors": [one.row for one in study.factors],
        "cells": cells,
        "claims": list(study.claims),
        "views": list(study.views),
        "phases": list(study.phases),
        "local_phases": list(study.local_phases),
        **more,
    }


def write(result: Result, folder: Path, name: str = FILE_NAME) -> None:
    """Write `study.json`, or a file of another name, in one step for anyone who looks."""
    temporary = folder / f".{name}-{os.getpid()}"
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    temporary.write_text(f"{text}\n", encoding="utf-8")
    removal.put(temporary, folder / name)


def read(path: Path) -> Result:
    """The result in a folder, or in a file. Errors: `InputError` when there is none."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: no study ({(error.strerror or '').lower()})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not a study ({error})") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError(f"{file}: not a study of schema {SCHEMA}; run it again")
    return found


def records(places: Iterable[str], folder: Path) -> dict[str, record.Record]:
    """The run records at these places of a study's folder, as far as they were kept."""
    kept = [place for place in places if (within(folder, place) / record.FILE_NAME).is_file()]
    return {place: record.read(folder / place) for place in kept}


def complain(found: list[Found]) -> None:
    """Raise what went wrong in a study, once its result is written.

    Errors: `VerificationError` where an answer was wrong, or two that must be equal differ;
    `EngineError` where a run failed otherwise.
    """
    digests: dict[tuple[object, ...], Found] = {}
    for one in found:
        if one.digest:
            first = digests.setdefault(one.combination.answers, one)
            if first.digest != one.digest:
                raise VerificationError(
                    f"answers differ: {first.combination.name} {first.digest}, "
                    f"{one.combination.name} {one.digest}"
                )
    failed = [(one.combination.name, row) for one in found for row in one.failed]
    for name, row in failed:
        if row["wrong"]:
            raise VerificationError(f"{name}: {row['why']}")
    if failed:
        name, row = failed[0]
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise EngineError(f"{name}: {row['why']}{others}")
