"""A study: a file of trials with a question. It is read, checked, and run trial by trial.

The file is TOML: `question`, `workload`, `engines`, `cores` ("all" or a list), `repeats`, `seed`,
`parameters`, `local_phases` (those that need no communication) and any number of `series`, each
with `name`, `title`, `scaling` (`weak` or `strong`), its own `parameters` and, for weak scaling,
whole-number parameters `per_core`.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from cuesta.engines import Engine
from cuesta.errors import InputError, VerificationError
from cuesta.lab import ceilings, record
from cuesta.lab.child import run_in_child
from cuesta.lab.machine import cores_usable
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.record import Record
from cuesta.lab.run import Plan, check, run_trial
from cuesta.lab.trial import Trial
from cuesta.workloads import get_workload

SCHEMA = "cuesta.study/1"
FILE_NAME = "study.json"
SCALINGS = ("weak", "strong")

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
        "series",
    }
)
_SERIES_FIELDS = frozenset({"name", "title", "scaling", "parameters", "per_core"})


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve an engine: the same trial on more and more cores."""

    name: str
    title: str
    scaling: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    per_core: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study:
    """What a study file says; `cores` empty stands for 1, 2, 4, ... up to all of the machine."""

    question: str
    workload: str
    engines: tuple[str, ...]
    cores: tuple[int, ...]
    repeats: int
    seed: int
    parameters: Mapping[str, object]
    local_phases: tuple[str, ...]
    series: tuple[Series, ...]

    def cores_here(self) -> tuple[int, ...]:
        """The numbers of cores to run on in this machine."""
        usable = cores_usable()
        if self.cores:
            return self.cores
        doubling = [1 << power for power in range(usable.bit_length()) if 1 << power < usable]
        return (*doubling, usable)

    def trial(self, series: Series, engine: str, cores: int, memory_bytes: int) -> Trial:
        """One of the trials. Errors: `InputError` naming a parameter."""
        scaled = {name: value * cores for name, value in series.per_core.items()}
        asked = {**self.parameters, **series.parameters, **scaled}
        return Trial(
            workload=self.workload,
            engine=engine,
            inputs=(),
            parameters=get_workload(self.workload).check(asked),
            threads=cores,
            memory_bytes=memory_bytes,
            seed=self.seed,
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
    lacking = sorted({"question", "workload", "engines", "series"} - given.keys())
    if lacking:
        raise refuse(f"{lacking[0]} is missing")
    series = []
    for one in given["series"]:
        unknown = sorted(one.keys() - _SERIES_FIELDS)
        if unknown or one.get("scaling") not in SCALINGS:
            what = unknown[0] if unknown else "scaling"
            raise refuse(f"a series has a wrong {what}; it takes {', '.join(_SERIES_FIELDS)}")
        if not re.fullmatch(r"[a-z0-9-]+", one.get("name", "")):
            raise refuse("a series needs a name of small letters, digits and hyphens")
        series.append(Series(**{"title": one["name"]} | one))
    cores = given.get("cores", "all")
    if cores != "all" and not (cores and all(isinstance(n, int) and n > 0 for n in cores)):
        raise refuse('cores is neither "all" nor a list of numbers from 1')
    return Study(
        question=str(given["question"]),
        workload=str(given["workload"]),
        engines=tuple(given["engines"]),
        cores=() if cores == "all" else tuple(sorted(set(cores))),
        repeats=int(given.get("repeats", 5)),
        seed=int(given.get("seed", 0)),
        parameters=given.get("parameters", {}),
        local_phases=tuple(given.get("local_phases", ())),
        series=tuple(series),
    )


def run(
    study: Study, engines: Mapping[str, Engine], plan: Plan, memory_bytes: int, hears: Observer
) -> Record:
    """Run what is not yet in the folder `plan.output`; return and write its `study.json`.

    Every trial has a process of its own that is bound to as many cores as it may use, and an
    answer folder `SERIES/ENGINE-CORES`. One that is there already, of the same trial, is kept, so
    a study that was stopped goes on. Engines that are not installed are left out, and named.

    Errors: as `run_trial`; `VerificationError` when answers of one trial differ by engine.
    """
    cores = study.cores_here()
    if max(cores) > cores_usable():
        raise InputError(f"cores {max(cores)}: this machine has {cores_usable()} to use")
    missing = {name: engine.missing() for name, engine in engines.items()}
    left_out = {name: why for name, why in missing.items() if why}
    rows = []
    for series in study.series:
        for count in cores:
            digests: dict[str, str] = {}
            for name, engine in engines.items():
                if name in left_out:
                    continue
                trial = study.trial(series, name, count, memory_bytes)
                place = Path(series.name, f"{name}-{count}")
                hears.note(f"{series.title}: {name} on {count} of {max(cores)} cores")
                own = replace(
                    plan,
                    output=plan.output / place,
                    repeats=study.repeats,
                    ceilings=ceilings.load(count),
                )
                found = _one(engine, trial, own, hears)
                digests[name] = found["answer"]["digest"]
                rows.append(
                    {"series": series.name, "engine": name, "cores": count, "record": str(place)}
                )
            if len(set(digests.values())) > 1:
                told = ", ".join(f"{name} {digest}" for name, digest in digests.items())
                raise VerificationError(f"answers of {series.name} on {count} cores differ: {told}")
    return _write(study, plan.output, rows, left_out)


def _one(engine: Engine, trial: Trial, plan: Plan, hears: Observer) -> Record:
    """The record of one trial: that of an earlier run, or of one made now."""
    if plan.output.is_dir():
        found = record.read(plan.output)
        if record.trial_of(found) == trial and found["repeats"] == plan.repeats:
            return found
        plan = replace(plan, overwrite=True)
    check(engine, trial, plan)
    plan.output.parent.mkdir(parents=True, exist_ok=True)

    def work() -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: trial.threads])
        try:
            run_trial(engine, trial, plan, Silent())
        finally:
            hears.close()

    run_in_child(engine.name, work)
    return record.read(plan.output)


def _write(study: Study, folder: Path, rows: list[Record], left_out: Mapping[str, str]) -> Record:
    result: Record = {
        "schema": SCHEMA,
        "question": study.question,
        "workload": study.workload,
        "local_phases": list(study.local_phases),
        "series": [
            {"name": one.name, "title": one.title, "scaling": one.scaling} for one in study.series
        ],
        "left_out": dict(left_out),
        "runs": rows,
    }
    temporary = folder / f".{FILE_NAME}"
    temporary.write_text(f"{json.dumps(result, indent=2)}\n", encoding="utf-8")
    temporary.replace(folder / FILE_NAME)
    return result


def trials(study: Study) -> Iterator[tuple[Series, str, int]]:
    """Series, engine and cores of every trial, in the order in which they run here."""
    for series in study.series:
        for cores in study.cores_here():
            for engine in study.engines:
                yield series, engine, cores
