"""Reader of study files, TOML by `spec/formats/study.md`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from cuesta.data.make import KINDS
from cuesta.data.registry import dataset
from cuesta.errors import InputError
from cuesta.units import parse_size
from cuesta.untrusted import read_text
from cuesta_lab.study.claims import check_claims
from cuesta_lab.study.commands import COMMAND, check_input_command
from cuesta_lab.study.model import NAME, REMOTE, Exclusion, Factor, Level, Study, StudyInput, Table
from cuesta_lab.study.settings import NAMES, merge_settings

_FIELDS = frozenset(
    {
        "title",
        "question",
        "paper",
        "workload",
        "engine",
        "repeats",
        "tight",
        "minutes",
        "seed",
        "phases",
        "local_phases",
        "settings",
        "input",
        "factor",
        "without",
        "view",
        "claim",
        "smoke",
        "answer_by",
    }
)
GALLERY = "gallery/"
"""Beginning of the names of studies that compare programs which anyone can install."""
_SOURCES = ("make", "get", "path", "uri", "command")
_LEVEL_FIELDS = frozenset({"name", "title", "value", "argument"})
_SMOKE_FIELDS = frozenset({"repeats", "minutes", "settings", "input", "factor"})


def names(part: str = "") -> list[str]:
    """Return the names of the studies that come with Cuesta, or of a part such as `GALLERY`."""
    folder = files("cuesta_lab").joinpath("studies", *part.split("/")[:-1])
    return sorted(
        part + entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if _is_study(entry.name)
    )


def read(name: str, *, smoke: bool = False) -> Study:
    """Read the study of that name, or in the file of that path. Errors: `InputError`."""
    is_bundled = name in [*names(), *names(GALLERY)]
    if is_bundled:
        place = files("cuesta_lab").joinpath("studies", f"{name}.toml")
        text, here = place.read_text("utf-8"), Path(str(place)).parent
    else:
        here = Path(name).parent
        try:
            text = read_text(Path(name))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            known = ", ".join([*names(), *names(GALLERY)])
            raise InputError(
                f"study {name}: {reason}; give a TOML file or one of {known}"
            ) from None
    try:
        study = parse(Path(name).stem, tomllib.loads(text), smoke=smoke)
        return replace(study, here=here, is_bundled=is_bundled)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"study {name}: {error}; correct the file") from None
    except InputError as error:
        remedy = "" if ";" in str(error) else "; correct the file"
        raise InputError(f"study {name}: {error}{remedy}") from None


def _is_study(name: str) -> bool:
    return name.endswith(".toml") and not name.startswith(".")


def parse(name: str, file_table: dict[str, Any], *, smoke: bool = False) -> Study:
    """Parse and check a study file. Errors: `InputError` with the key."""
    _known(file_table, _FIELDS, "the study")
    small = _table(file_table.get("smoke", {}), "smoke")
    _known(small, _SMOKE_FIELDS, "smoke")
    fewer: dict[str, Any] = {key: small[key] for key in ("repeats", "minutes") if key in small}
    used = {**file_table, **fewer} if smoke else file_table
    base = _table(file_table.get("settings", {}), "settings")
    top_settings: dict[str, Any] = {
        key: file_table[key] for key in ("workload", "engine") if key in file_table
    }
    if smoke:
        base = merge_settings([base, _table(small.get("settings", {}), "smoke.settings")])
    factors = _rows(file_table, "factor", _factor)
    inputs = _rows(file_table, "input", _input)
    _check_names([factor.name for factor in factors], "factor")
    _check_names([source.name for source in inputs], "input")
    known = {factor.name: {level.name for level in factor.levels} for factor in factors}
    claims = _rows(file_table, "claim", dict)
    check_claims(file_table, [factor.row for factor in factors])
    if smoke:
        less = _table(small.get("input", {}), "smoke.input")
        inputs = tuple(_smaller(source, less) for source in inputs)
        less = _table(small.get("factor", {}), "smoke.factor")
        factors = tuple(_fewer(factor, less) for factor in factors)
    return Study(
        name=name,
        title=_text(file_table, "title", name),
        question=_text(file_table, "question"),
        paper=_text(file_table, "paper", ""),
        settings={**top_settings, **base},
        inputs=inputs,
        factors=factors,
        without=_rows(file_table, "without", lambda row: _without(row, known)),
        views=_rows(file_table, "view", dict),
        claims=claims,
        repeats=int(_number(used, "repeats", 5, 1, 1000)),
        tight=_number(file_table, "tight", 0.05, 0.001, 1) if "tight" in file_table else None,
        minutes=_number(used, "minutes", 20, 0.01, 100_000),
        seed=int(_number(file_table, "seed", 0, 0, 2**63)),
        phases=_texts(file_table, "phases"),
        local_phases=_texts(file_table, "local_phases"),
        file_table=file_table,
        smoke=smoke,
        answer_by=_answer_by(file_table, known),
    )


def _answer_by(file_table: Table, known: Iterable[str]) -> tuple[str, ...]:
    names = _texts(file_table, "answer_by")
    for name in names:
        if name not in known:
            raise InputError(f"answer_by: {name} is not a factor; there are {', '.join(known)}")
    return names


def _known(row: Table, known: Iterable[str], what: str) -> None:
    unknown = sorted(row.keys() - set(known))
    if unknown:
        raise InputError(
            f"{unknown[0]} is not known in {what}; it takes {', '.join(sorted(known))}"
        )


def _table(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{name} is {value!r}, give a table")
    return value


def _rows(tables: Table, name: str, to_row: Callable[[dict[str, Any]], Any]) -> tuple[Any, ...]:
    """Parse the tables `[[name]]`, each with `to_row`. Errors: `InputError` with the table."""
    rows = tables.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name} is not a list of tables; write [[{name}]]")
    values = []
    for number, row in enumerate(rows, 1):
        try:
            values.append(to_row(row))
        except InputError as error:
            raise InputError(f"{name} {row.get('name', number)}: {error}") from None
    return tuple(values)


def _text(row: Table, name: str, default: str | None = None) -> str:
    value = row.get(name, default)
    if value is None:
        raise InputError(f"{name} is missing; add it")
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}, give text")
    return value


def _texts(row: Table, name: str) -> tuple[str, ...]:
    value = row.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name} is {value!r}, give a list of names")
    return tuple(value)


def _number(row: Table, name: str, default: float, least: float, most: float) -> float:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise InputError(f"{name} is {value!r}, give a number from {least:g} to {most:g}")
    return value


def _name(row: Table) -> str:
    name = row.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"name is {name!r}, give small letters, digits, dots and hyphens")
    return name


def _check_names(names: list[str], what: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(f"there are two {what}s called {twice}")


def _factor(row: dict[str, Any]) -> Factor:
    _known(row, ("name", "title", "unit", "levels"), "a factor")
    name = _name(row)
    levels = _rows({"level": row.get("levels", [])}, "level", _level)
    if not levels:
        raise InputError("levels is missing; give a list of tables, each with a name")
    _check_names([level.name for level in levels], "level")
    return Factor(
        name=name, title=_text(row, "title", name), unit=_text(row, "unit", ""), levels=levels
    )


def _level(row: dict[str, Any]) -> Level:
    _known(row, NAMES | _LEVEL_FIELDS, "a level")
    name = _name(row)
    value = _number(row, "value", 0, -1e300, 1e300) if "value" in row else None
    return Level(
        name=name,
        title=_text(row, "title", name),
        value=None if value is None else float(value),
        settings={key: setting for key, setting in row.items() if key not in _LEVEL_FIELDS},
        argument=_text(row, "argument", name),
    )


def _input(row: dict[str, Any]) -> StudyInput:
    name = _name(row)
    sources = [key for key in _SOURCES if key in row]
    if len(sources) != 1:
        raise InputError(f"give one of {', '.join(_SOURCES)}")
    kind = sources[0]
    source = _text(row, kind)
    options = {
        key: setting for key, setting in row.items() if key not in ("name", "at", "block", kind)
    }
    at = _text(row, "at") if "at" in row else None
    if at is not None and not NAME.fullmatch(at):
        raise InputError(f"at is {at!r}, give the name of a place, such as {REMOTE}")
    if kind == "get":
        dataset(source)
    if kind == COMMAND:
        check_input_command(source)
    _known(options, _options_of(source) if kind == "make" else (), f"an input to {kind}")
    if "block" in row and at is None:
        raise InputError(f'block is for an input with at = "{REMOTE}"; leave it out')
    return StudyInput(
        name=name,
        kind=kind,
        source=source,
        options=options,
        at=at,
        block_bytes=parse_size(_text(row, "block"), "block") if "block" in row else None,
    )


def _options_of(make: str) -> set[str]:
    kinds = {kind.name: {option.name for option in kind.options} for kind in KINDS}
    if make not in kinds:
        raise InputError(f"make is {make!r}, give one of {', '.join(kinds)}")
    return kinds[make]


def _without(row: dict[str, Any], known: Mapping[str, set[str]]) -> Exclusion:
    _known(row, ("where", "why"), "without")
    where = {}
    for factor, excluded in _table(row.get("where"), "where").items():
        levels = tuple(excluded) if isinstance(excluded, list) else (excluded,)
        if factor not in known:
            raise InputError(f"{factor} is not a factor; there are {', '.join(known)}")
        for level in levels:
            if not isinstance(level, str) or level not in known[factor]:
                raise InputError(f"{level!r} is not a level of {factor}")
        where[factor] = levels
    return Exclusion(where=where, why=_text(row, "why"))


def _smaller(study_input: StudyInput, small: Table) -> StudyInput:
    """Replace the options of an input by those of its smoke size."""
    options = _table(small.get(study_input.name, {}), f"smoke.input.{study_input.name}")
    if options and study_input.kind == COMMAND:
        _known(options, (COMMAND,), f"smoke.input.{study_input.name}")
        source = _text(options, COMMAND)
        check_input_command(source)
        return replace(study_input, source=source)
    if options:
        _known(options, _options_of(study_input.source), f"smoke.input.{study_input.name}")
    return replace(study_input, options={**study_input.options, **options})


def _fewer(factor: Factor, small: Table) -> Factor:
    """Restrict a factor to the levels of the smoke size, with their settings."""
    what = f"smoke.factor.{factor.name}"
    row = _table(small.get(factor.name, {}), what)
    all_levels = [level.name for level in factor.levels]
    _known(row, ("keep", *all_levels), what)
    retained = _texts(row, "keep") or tuple(all_levels)
    levels = tuple(
        replace(
            level, settings=merge_settings([level.settings, _table(row.get(level.name, {}), what)])
        )
        for level in factor.levels
        if level.name in retained
    )
    if len(levels) < len(retained):
        raise InputError(f"{what}: keep has a level that is not there; leave it out")
    return replace(factor, levels=levels)
