"""Reads a study file: TOML, as `spec/formats/study.md` has it."""

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
from cuesta.lab.study.claims import check_claims
from cuesta.lab.study.model import NAME, REMOTE, Factor, Level, Study, StudyInput, Table, Without
from cuesta.lab.study.settings import NAMES, overlaid
from cuesta.units import parse_size

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
    }
)
_SOURCES = ("make", "get", "path", "uri")
_LEVEL_FIELDS = frozenset({"name", "title", "value"})
_SMOKE_FIELDS = frozenset({"repeats", "minutes", "settings", "input", "factor"})


def names() -> list[str]:
    """The studies that come with Cuesta."""
    folder = files("cuesta").joinpath("studies")
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if _is_study(one.name))


def read(name: str, *, smoke: bool = False) -> Study:
    """The study of that name, or in the file of that path. Errors: `InputError`."""
    if name in names():
        text = files("cuesta").joinpath("studies", f"{name}.toml").read_text("utf-8")
    else:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            told = error.strerror if isinstance(error, OSError) else "not text"
            known = ", ".join(names())
            raise InputError(f"study {name}: {told}; give a TOML file or one of {known}") from None
    try:
        return parsed(Path(name).stem, tomllib.loads(text), smoke=smoke)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"study {name}: {error}") from None
    except InputError as error:
        raise InputError(f"study {name}: {error}") from None


def _is_study(name: str) -> bool:
    return name.endswith(".toml") and not name.startswith(".")


def parsed(name: str, given: dict[str, Any], *, smoke: bool = False) -> Study:
    """The study that a file says. Errors: `InputError` naming the key."""
    _known(given, _FIELDS, "the study")
    small = _table(given.get("smoke", {}), "smoke")
    _known(small, _SMOKE_FIELDS, "smoke")
    fewer: dict[str, Any] = {key: small[key] for key in ("repeats", "minutes") if key in small}
    used = {**given, **fewer} if smoke else given
    base = _table(given.get("settings", {}), "settings")
    own: dict[str, Any] = {key: given[key] for key in ("workload", "engine") if key in given}
    if smoke:
        base = overlaid([base, _table(small.get("settings", {}), "smoke.settings")])
    factors = _rows(given, "factor", _factor)
    inputs = _rows(given, "input", _input)
    _check_names([one.name for one in factors], "factor")
    _check_names([one.name for one in inputs], "input")
    known = {one.name: {level.name for level in one.levels} for one in factors}
    claims = _rows(given, "claim", dict)
    check_claims(given, [one.row for one in factors])
    if smoke:
        less = _table(small.get("input", {}), "smoke.input")
        inputs = tuple(_smaller(one, less) for one in inputs)
        less = _table(small.get("factor", {}), "smoke.factor")
        factors = tuple(_fewer(one, less) for one in factors)
    return Study(
        name=name,
        title=_text(given, "title", name),
        question=_text(given, "question"),
        paper=_text(given, "paper", ""),
        settings={**own, **base},
        inputs=inputs,
        factors=factors,
        without=_rows(given, "without", lambda row: _without(row, known)),
        views=_rows(given, "view", dict),
        claims=claims,
        repeats=int(_number(used, "repeats", 5, 1, 1000)),
        tight=_number(given, "tight", 0.05, 0.001, 1) if "tight" in given else None,
        minutes=_number(used, "minutes", 20, 0.01, 100_000),
        seed=int(_number(given, "seed", 0, 0, 2**63)),
        phases=_texts(given, "phases"),
        local_phases=_texts(given, "local_phases"),
        file_table=given,
        smoke=smoke,
    )


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


def _rows(given: Table, name: str, to_row: Callable[[dict[str, Any]], Any]) -> tuple[Any, ...]:
    """The tables `[[name]]`, each made into a value. Errors: `InputError` saying which."""
    rows = given.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name} is not a list of tables; write [[{name}]]")
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(to_row(row))
        except InputError as error:
            raise InputError(f"{name} {row.get('name', number)}: {error}") from None
    return tuple(found)


def _text(row: Table, name: str, default: str | None = None) -> str:
    value = row.get(name, default)
    if value is None:
        raise InputError(f"{name} is missing")
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}, give text")
    return value


def _texts(row: Table, name: str) -> tuple[str, ...]:
    value = row.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
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


def _check_names(given: list[str], what: str) -> None:
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice:
        raise InputError(f"there are two {what}s called {twice}")


def _factor(row: dict[str, Any]) -> Factor:
    _known(row, ("name", "title", "unit", "levels"), "a factor")
    name = _name(row)
    levels = _rows({"level": row.get("levels", [])}, "level", _level)
    if not levels:
        raise InputError("levels is missing; give a list of tables, each with a name")
    _check_names([one.name for one in levels], "level")
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
        settings={key: one for key, one in row.items() if key not in _LEVEL_FIELDS},
    )


def _input(row: dict[str, Any]) -> StudyInput:
    name = _name(row)
    sources = [key for key in _SOURCES if key in row]
    if len(sources) != 1:
        raise InputError(f"give one of {', '.join(_SOURCES)}")
    kind = sources[0]
    source = _text(row, kind)
    options = {key: one for key, one in row.items() if key not in ("name", "at", "block", kind)}
    at = _text(row, "at") if "at" in row else None
    if at is not None and not NAME.fullmatch(at):
        raise InputError(f"at is {at!r}, give the name of a place, such as {REMOTE}")
    if kind == "get":
        dataset(source)
    _known(options, _options_of(source) if kind == "make" else (), f"an input to {kind}")
    if "block" in row and at is None:
        raise InputError(f'block is for an input with at = "{REMOTE}"')
    return StudyInput(
        name=name,
        kind=kind,
        source=source,
        options=options,
        at=at,
        block_bytes=parse_size(_text(row, "block"), "block") if "block" in row else None,
    )


def _options_of(make: str) -> set[str]:
    kinds = {kind.name: {one.name for one in kind.options} for kind in KINDS}
    if make not in kinds:
        raise InputError(f"make is {make!r}, give one of {', '.join(kinds)}")
    return kinds[make]


def _without(row: dict[str, Any], known: Mapping[str, set[str]]) -> Without:
    _known(row, ("where", "why"), "without")
    where = {}
    for factor, given in _table(row.get("where"), "where").items():
        levels = tuple(given) if isinstance(given, list) else (given,)
        if factor not in known:
            raise InputError(f"{factor} is not a factor; there are {', '.join(known)}")
        for level in levels:
            if not isinstance(level, str) or level not in known[factor]:
                raise InputError(f"{level!r} is not a level of {factor}")
        where[factor] = levels
    return Without(where=where, why=_text(row, "why"))


def _smaller(one: StudyInput, small: Table) -> StudyInput:
    """An input as a trial run makes it."""
    options = _table(small.get(one.name, {}), f"smoke.input.{one.name}")
    if options:
        _known(options, _options_of(one.source), f"smoke.input.{one.name}")
    return replace(one, options={**one.options, **options})


def _fewer(one: Factor, small: Table) -> Factor:
    """A factor with the levels that a trial run keeps, and what it sets in them."""
    what = f"smoke.factor.{one.name}"
    row = _table(small.get(one.name, {}), what)
    every = [level.name for level in one.levels]
    _known(row, ("keep", *every), what)
    kept = _texts(row, "keep") or tuple(every)
    levels = tuple(
        replace(level, settings=overlaid([level.settings, _table(row.get(level.name, {}), what)]))
        for level in one.levels
        if level.name in kept
    )
    if len(levels) < len(kept):
        raise InputError(f"{what}: keep names a level that is not there")
    return replace(one, levels=levels)
