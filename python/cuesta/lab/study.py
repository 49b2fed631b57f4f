"""Runs a study trial by trial, each into an answer folder of its own."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from cuesta.data.make import KINDS, make
from cuesta.engines import Engine
from cuesta.errors import InputError, VerificationError
from cuesta.lab import ceilings, record
from cuesta.lab.child import run_in_child
from cuesta.lab.names import resolved
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.record import Record
from cuesta.lab.run import Plan, check, lacking, run_trial
from cuesta.lab.study_file import Input, Series, Study, Variant, names, read
from cuesta.lab.verify import FULL
from cuesta.machine import cores_usable
from cuesta.trial import Trial

__all__ = ["Series", "Study", "Variant", "names", "read", "run", "trials"]

SCHEMA = "cuesta.study/1"
FILE_NAME = "study.json"
INPUTS = "inputs"
"""Folder of the inputs that a study has made."""


def run(
    study: Study, engines: Mapping[str, Engine], plan: Plan, memory_bytes: int, hears: Observer
) -> Record:
    """Run what is not yet in the folder `plan.output`; return and write its `study.json`.

    Every trial has a process of its own that is bound to as many cores as it may use, and an
    answer folder `SERIES/VARIANT-CORES`. One that is there already, of the same trial, is kept, so
    a study that was stopped goes on; so are its inputs. Engines and variants that lack something
    here are left out, and named. Arguments: `engines` are those to run; variants of others are
    passed over.

    Errors: as `run_trial`; `VerificationError` when answers of one trial differ by variant.
    """
    if plan.verify != FULL:
        raise InputError(f"--verify {plan.verify}: a study verifies every answer in full")
    cores = study.cores_here()
    if max(cores) > cores_usable():
        raise InputError(f"cores {max(cores)}: this machine has {cores_usable()} to use")
    missing = {name: engine.missing() for name, engine in engines.items()}
    left_out = {name: why for name, why in missing.items() if why}
    able = {name: engine for name, engine in engines.items() if name not in left_out}
    folder = _inputs(study, plan.output, hears)
    rows = []
    for series in study.series:
        for count in study.cores_here(series):
            digests: dict[str, str] = {}
            for variant in (one for one in study.variants if one.engine in able):
                trial = study.trial(series, variant, (count, memory_bytes), folder)
                if why := lacking(able[variant.engine], trial):
                    left_out[variant.title] = why
                    continue
                place = Path(series.name, f"{variant.name}-{count}")
                hears.note(f"{series.title}: {variant.title} on {count} of {max(cores)} cores")
                own = replace(
                    plan,
                    output=plan.output / place,
                    repeats=study.repeats,
                    ceilings=ceilings.load(count),
                )
                found = _one(able[variant.engine], trial, own, hears)
                digests[variant.title] = found["answer"]["digest"]
                rows.append(
                    {
                        "series": series.name,
                        "engine": variant.engine,
                        "label": variant.title,
                        "cores": count,
                        "record": str(place),
                    }
                )
            if len(set(digests.values())) > 1:
                told = ", ".join(f"{name} {digest}" for name, digest in digests.items())
                raise VerificationError(f"answers of {series.name} on {count} cores differ: {told}")
    return _write(study, plan.output, rows, left_out)


def _inputs(study: Study, output: Path, hears: Observer) -> Path:
    """The folder of the study's inputs, all of them there. Errors: `InputError`."""
    folder = output.absolute() / INPUTS
    wanted = {one.name: json.dumps(asdict(one), sort_keys=True) for one in study.inputs}
    lacking = [one for one in study.inputs if _told(folder, one.name) != wanted[one.name]]
    # Answers to other inputs of the same names are none of this study.
    for series in study.series if lacking else ():
        shutil.rmtree(output / series.name, ignore_errors=True)
    for one in lacking:
        hears.note(f"making input {one.name}")
        folder.mkdir(exist_ok=True)
        _make(one, folder / one.name)
        (folder / f"{one.name}.json").write_text(wanted[one.name], encoding="utf-8")
    return folder


def _told(folder: Path, name: str) -> str:
    """What an input that is there was made from; empty when it is not whole."""
    try:
        return (folder / f"{name}.json").read_text(encoding="utf-8")
    except OSError:
        return ""


def _make(one: Input, target: Path) -> None:
    """Make an input, in the place of an older one."""
    target.with_name(f"{target.name}.json").unlink(missing_ok=True)
    shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    kind = next(kind for kind in KINDS if kind.name == one.make)
    options = {option.name: option.default for option in kind.options} | dict(one.options)
    make(kind, options, target)


def _one(engine: Engine, trial: Trial, plan: Plan, hears: Observer) -> Record:
    """The record of one trial: that of an earlier run, or of one made now."""
    if plan.output.is_dir():
        found = record.read(plan.output)
        same = record.trial_of(found) == resolved(trial)[0] and found["repeats"] == plan.repeats
        if same and found["verified"] and found["verification"].get("level", FULL) == FULL:
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


def trials(study: Study) -> Iterator[tuple[Series, Variant, int]]:
    """Series, variant and cores of every trial, in the order in which they run here."""
    for series in study.series:
        for cores in study.cores_here(series):
            for variant in study.variants:
                yield series, variant, cores
