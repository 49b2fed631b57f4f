"""What a study file says: its trials, and the question that they answer.

The file is TOML: `question`, `workload`, `engines`, `cores` ("all" or a list), `repeats`, `seed`,
`parameters`, `local_phases` (those that need no communication) and any number of `series`, each
with `name`, `title`, `scaling` (`weak`, `strong`, or `none`: on the largest number of cores alone),
its own `parameters` and, for weak scaling, whole-number parameters `per_core`.

Beside `engines`, or instead of them, there may be any number of `variant`, each with `name`,
`title`, `engine`, and its own `parameters` and `engine_options`: the same engine told to go about
it in another way. Any number of `input`, each with `name`, `make` (a kind of `cuesta data make`)
and the options of that kind, are made once for all trials, in their order.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from cuesta.data.make import KINDS
from cuesta.errors import InputError
from cuesta.machine import cores_usable
from cuesta.trial import Trial
from cuesta.workloads import get_workload

SCALINGS = ("weak", "strong", "none")

_FIELDS = frozenset(
    {
        "question",
        "workload",
        "engines",
        "cores",
        "repeats",
        "seed",
        "parameters",
        "local_phases",
        "input",
        "variant",
        "series",
    }
)
_SERIES_FIELDS = frozenset({"name", "title", "scaling", "parameters", "per_core"})
_VARIANT_FIELDS = frozenset({"name", "title", "engine", "parameters", "engine_options"})


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve a variant: the same trial on more and more cores."""

    name: str
    title: str
    scaling: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    per_core: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """An engine, and how it is told to go about a trial."""

    name: str
    title: str
    engine: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    engine_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Input:
    """A synthetic input: a kind of `cuesta data make` and its options."""

    name: str
    make: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study:
    """What a study file says; `cores` empty stands for 1, 2, 4, ... up to all of the machine."""

    question: str
    workload: str
    variants: tuple[Variant, ...]
    cores: tuple[int, ...]
    repeats: int
    seed: int
    parameters: Mapping[str, object]
    local_phases: tuple[str, ...]
    inputs: tuple[Input, ...]
    series: tuple[Series, ...]

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines of all variants, each once."""
        return tuple(dict.fromkeys(one.engine for one in self.variants))

    def cores_here(self, series: Series | None = None) -> tuple[int, ...]:
        """The numbers of cores to run on in this machine, those of a series where one is named."""
        usable = cores_usable()
        doubling = [1 << power for power in range(usable.bit_length()) if 1 << power < usable]
        all_of_them = self.cores or (*doubling, usable)
        return all_of_them[-1:] if series and series.scaling == "none" else all_of_them

    def trial(
        self, series: Series, variant: Variant, limits: tuple[int, int], folder: Path = Path()
    ) -> Trial:
        """One of the trials. Errors: `InputError` naming a parameter.

        Arguments: `limits` are cores and bytes of memory; `folder` is where inputs are.
        """
        cores, memory_bytes = limits
        scaled = {name: value * cores for name, value in series.per_core.items()}
        asked = {**self.parameters, **series.parameters, **variant.parameters, **scaled}
        workload = get_workload(self.workload)
        parameters, names = workload.apart(asked)
        return Trial(
            workload=self.workload,
            engine=variant.engine,
            inputs=tuple(str(folder / one.name) for one in self.inputs),
            parameters=workload.check(parameters),
            threads=cores,
            memory_bytes=memory_bytes,
            seed=self.seed,
            engine_options=dict(variant.engine_options),
            names=names and str(Path(names).absolute()),
        )


def names() -> list[str]:
    """The studies that come with Cuesta."""
    folder = files("cuesta").joinpath("studies")
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if _is_study(one.name))


def read(name: str) -> Study:
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
        return _parsed(name, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"study {name}: {error}") from None


def _is_study(name: str) -> bool:
    return name.endswith(".toml") and not name.startswith(".")


def _parsed(name: str, given: dict[str, Any]) -> Study:
    def refuse(what: str) -> InputError:
        return InputError(f"study {name}: {what}")

    unknown = sorted(given.keys() - _FIELDS)
    if unknown:
        raise refuse(f"{unknown[0]} is not known; it takes {', '.join(sorted(_FIELDS))}")
    lacking = sorted({"question", "workload", "series"} - given.keys())
    if lacking:
        raise refuse(f"{lacking[0]} is missing")
    if not given.get("engines") and not given.get("variant"):
        raise refuse("engines is missing, and so is variant")
    cores = given.get("cores", "all")
    if cores != "all" and not (cores and all(isinstance(n, int) and n > 0 for n in cores)):
        raise refuse('cores is neither "all" nor a list of numbers from 1')
    try:
        return Study(
            question=str(given["question"]),
            workload=str(given["workload"]),
            variants=(
                *(Variant(name=one, title=one, engine=one) for one in given.get("engines", ())),
                *(_variant(one) for one in given.get("variant", ())),
            ),
            cores=() if cores == "all" else tuple(sorted(set(cores))),
            repeats=int(given.get("repeats", 5)),
            seed=int(given.get("seed", 0)),
            parameters=given.get("parameters", {}),
            local_phases=tuple(given.get("local_phases", ())),
            inputs=tuple(_input(one) for one in given.get("input", ())),
            series=tuple(_series(one) for one in given["series"]),
        )
    except InputError as error:
        raise refuse(str(error)) from None


def _series(row: dict[str, Any]) -> Series:
    if row.get("scaling") not in SCALINGS:
        raise InputError(f"a series has a wrong scaling; it takes {', '.join(SCALINGS)}")
    return Series(**_named(row, "a series", _SERIES_FIELDS))


def _variant(row: dict[str, Any]) -> Variant:
    checked = _named(row, "a variant", _VARIANT_FIELDS)
    if "engine" not in checked:
        raise InputError(f"variant {checked['name']} names no engine")
    options = {key: str(value) for key, value in checked.get("engine_options", {}).items()}
    return Variant(**checked | {"engine_options": options})


def _input(row: dict[str, Any]) -> Input:
    kinds = {kind.name: {one.name for one in kind.options} for kind in KINDS}
    if row.get("make") not in kinds:
        raise InputError(f"an input has a wrong make; it takes {', '.join(kinds)}")
    options = kinds[row["make"]]
    _named(row, "an input", options | {"name", "make"})
    given = {key: row[key] for key in row if key in options}
    return Input(name=row["name"], make=row["make"], options=given)


def _named(row: dict[str, Any], what: str, known: frozenset[str] | set[str]) -> dict[str, Any]:
    """The fields of a row, a title among them. Errors: `InputError`."""
    unknown = sorted(row.keys() - known)
    if unknown:
        raise InputError(f"{what} has a wrong {unknown[0]}; it takes {', '.join(sorted(known))}")
    if not re.fullmatch(r"[a-z0-9-]+", row.get("name", "")):
        raise InputError(f"{what} needs a name of small letters, digits and hyphens")
    return {"title": row["name"]} | row
