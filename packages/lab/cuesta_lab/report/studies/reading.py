"""Reads `study.json`; a field that is missing or of another type counts as absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from cuesta import numerals as n
from cuesta.errors import InputError
from cuesta.report.records import RUN_FILE, Fields, Run, mapping, number, objects, text, to_run
from cuesta.untrusted import read_json, read_record
from cuesta_lab.report.studies.model import (
    FILE_NAME,
    SCHEMA,
    Claim,
    ClaimPart,
    Factor,
    Level,
    StudyAlarm,
    StudyCell,
    StudyResult,
    View,
)
from cuesta_lab.study.intervals import FAR

WORDS_MAX = 600
"""Characters of a text that are shown."""

SAMPLES_MAX = 1000
KINDS = ("lines", "bars", "stack", "timeline", "efficiency")


def read(path: Path) -> StudyResult:
    """The study in a folder, or in a file. Errors: `InputError` when there is none."""
    file = path / FILE_NAME if path.is_dir() else path
    fields = read_record(file, "study", SCHEMA)
    return to_study(fields, _records(file.parent))


def to_study(fields: Fields, record: Callable[[str], Run | None]) -> StudyResult:
    """Return the values of one result."""
    name = _words(fields.get("name"))
    file = mapping(fields.get("file"))
    factors = tuple(_factor(factor) for factor in objects(fields.get("factors")))
    return StudyResult(
        title=_words(fields.get("title")) or _words(fields.get("question")) or name,
        question=_words(fields.get("question")),
        paper=_words(fields.get("paper")),
        smoke=fields.get("smoke") is True,
        factors=factors,
        cells=tuple(_cell(cell) for cell in objects(fields.get("cells"))),
        claims=tuple(_claim(claim) for claim in objects(fields.get("claims"))),
        views=tuple(_view(view) for view in objects(fields.get("views"))),
        phases=_names(fields.get("phases")),
        local_phases=_names(fields.get("local_phases")),
        alarms=tuple(_alarm(alarm) for alarm in objects(fields.get("alarms"))),
        file=file,
        fields=fields,
        record=record,
    )


def _records(folder: Path) -> Callable[[str], Run | None]:
    """Return the reader of run records below a folder, each read once."""

    @cache
    def record(place: str) -> Run | None:
        file = folder / place / RUN_FILE
        try:
            if not file.resolve().is_relative_to(folder.resolve()):
                return None
            return to_run(mapping(read_json(file)), str(file))
        except (OSError, ValueError, RecursionError, InputError):
            return None

    return record


def _factor(fields: Fields) -> Factor:
    name = _words(fields.get("name"))
    return Factor(
        name=name,
        title=_words(fields.get("title")) or name.replace("_", " ").replace("-", " "),
        unit=_words(fields.get("unit")),
        levels=tuple(
            Level(
                name=_words(level.get("name")),
                title=_words(level.get("title")) or _words(level.get("name")),
                value=number(level.get("value")),
            )
            for level in objects(fields.get("levels"))
        ),
    )


def _cell(fields: Fields) -> StudyCell:
    samples = {}
    for name, values in mapping(fields.get("measures")).items():
        listed = values if isinstance(values, list) else []
        values_read = [number(value) for value in listed[:SAMPLES_MAX]]
        samples[name] = tuple(value for value in values_read if value is not None)
    return StudyCell(
        levels=_strings(fields.get("levels")),
        runs=_names(fields.get("runs")),
        digest=text(fields.get("digest")),
        left_out=_words(fields.get("left_out")),
        failed=tuple(_words(failure.get("why")) for failure in objects(fields.get("failed"))),
        measures={name: values for name, values in samples.items() if values},
        remarks=_names(fields.get("remarks")),
    )


def _claim(fields: Fields) -> Claim:
    untested = _words(fields.get("untested"))
    verdict = _words(fields.get("verdict")) or ("cannot be tested" if untested else "undecided")
    return Claim(
        name=_words(fields.get("name")),
        figures=_names(fields.get("figures")),
        finding=_words(fields.get("finding")),
        expected=_words(fields.get("expected")),
        verdict=verdict,
        result=_words(fields.get("said")) or untested,
        is_trend="trend" in fields,
        parts=tuple(
            _part(part, is_power="exponent" in fields) for part in objects(fields.get("parts"))
        ),
    )


def _part(fields: Fields, *, is_power: bool) -> ClaimPart:
    holds = {True: "holds", False: "does not hold"}
    verdict = _words(fields.get("verdict")) or next(
        (words for known, words in holds.items() if fields.get("holds") is known), ""
    )
    ratio = mapping(fields.get("ratio"))
    low, middle, high = (number(ratio.get(name)) for name in ("low", "median", "high"))
    words = "" if middle is None else n.ratio(middle)
    if is_power and middle is not None:
        words = f"power {n.significant(middle, 2)}"
    if words and low is not None and high is not None:
        known = high < FAR and low > (-FAR if is_power else 1 / FAR)
        interval = f"{n.significant(low, 2)} to {n.significant(high, 2)}"
        words += f" ({interval if known else 'no interval'})"
    return ClaimPart(
        levels=_strings(fields.get("levels")),
        words=words,
        verdict=verdict,
    )


def _view(fields: Fields) -> View:
    where = {}
    for name, value in mapping(fields.get("where")).items():
        where[name] = _names(value if isinstance(value, list) else [value])
    kind = text(fields.get("kind"))
    return View(
        title=_words(fields.get("title")),
        kind=kind if kind in KINDS else "lines",
        across=_words(fields.get("across")),
        curves=_words(fields.get("curves")),
        panels=_words(fields.get("panels")),
        measure=_words(fields.get("measure")) or "work",
        where=where,
    )


def _alarm(fields: Fields) -> StudyAlarm:
    return StudyAlarm(
        rule=str(fields.get("rule") or "")[:WORDS_MAX],
        text=_words(fields.get("text")),
        grave=fields.get("grave") is True,
    )


def _words(value: object) -> str:
    return text(value)[:WORDS_MAX]


def _names(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else []
    return tuple(_words(element) for element in listed if isinstance(element, str))


def _strings(value: object) -> Mapping[str, str]:
    return {name: _words(one) for name, one in mapping(value).items() if isinstance(one, str)}
