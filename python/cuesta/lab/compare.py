"""Comparison of a trial on several engines, and of their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cuesta.engines import ENGINE_NAMES, Engine
from cuesta.errors import InputError, VerificationError
from cuesta.lab import leftovers, record, streams
from cuesta.lab.child import run_in_child
from cuesta.lab.folder import AnswerFolder
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.plan import Plan
from cuesta.lab.record import Record
from cuesta.lab.run import run_trial
from cuesta.lab.steps.resolve import check
from cuesta.lab.verify import FULL
from cuesta.trial import Trial
from cuesta.untrusted import within

SCHEMA = "cuesta.compare/1"
FILE_NAME = "compare.json"


def compare(
    engines: Sequence[Engine], trial: Trial, plan: Plan, observer: Observer | None = None
) -> Record:
    """Run `trial` on each of `engines` in turn, each in its own process.

    `plan.output` becomes a folder with an answer folder for each engine and `compare.json`, which
    is returned. All engines are checked before the first one runs. Errors: as `run_trial`;
    `VerificationError` if two digests differ.
    """
    observer = observer or Silent()
    names = [engine.name for engine in engines]
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"--engines takes different engines; give some, such as {','.join(ENGINE_NAMES)}"
        )
    if plan.verify != FULL:
        raise InputError(
            f"--verify {plan.verify}: a comparison holds answers equal that are all verified in "
            "full; leave it out"
        )
    streams.refuse(trial, "every engine reads its inputs anew; give files")
    for engine in engines:
        check(engine, _of_engine(engine, trial, plan), plan)
    for sentence in leftovers.sweep(plan.output.resolve(), plan.scratch):
        observer.note(sentence)
    with AnswerFolder(plan.output, overwrite=plan.overwrite, inputs=trial.inputs) as folder:
        for engine in engines:
            observer.note(f"{trial.workload} on {engine.name}")
            place = folder.answer / engine.name
            inner = replace(plan, output=place, sample=plan.sample_name)
            _run_engine(engine, trial, inner, observer)
        result = summary([record.read(folder.answer / name) for name in names])
        text = json.dumps(result, indent=2, ensure_ascii=False)
        (folder.answer / FILE_NAME).write_text(f"{text}\n", encoding="utf-8")
        if not result["equal"]:
            where = folder.keep()
            raise VerificationError(f"{_differ(result)}; the answers are left in {where}")
        for sentence in folder.finish():
            observer.note(sentence)
    return result


def summary(records: Sequence[Record]) -> Record:
    """Content of `compare.json` for these run records of a trial."""
    digests = {run_record["engine"]: run_record["answer"]["digest"] for run_record in records}
    return {
        "schema": SCHEMA,
        "workload": records[0]["workload"],
        "engines": list(digests),
        "records": {name: f"{name}/{record.FILE_NAME}" for name in digests},
        "digests": digests,
        "equal": len(set(digests.values())) == 1,
        "verified": all(run_record["verified"] for run_record in records),
        "wall_seconds": {
            run_record["engine"]: run_record["statistics"]["wall_seconds"]["median"]
            for run_record in records
        },
        "as_typed_seconds": {
            run_record["engine"]: record.single_run_seconds(run_record) for run_record in records
        },
    }


def _run_engine(engine: Engine, trial: Trial, plan: Plan, observer: Observer) -> None:
    engine_trial = _of_engine(engine, trial, plan)

    def work() -> None:
        try:
            run_trial(engine, engine_trial, plan, observer)
        finally:
            observer.close()

    run_in_child(f"engine {engine.name}", work)


def _of_engine(engine: Engine, trial: Trial, plan: Plan) -> Trial:
    """The trial of an engine, with its settings."""
    options = {**plan.engine_settings.get(engine.name, {}), **trial.engine_options}
    return replace(trial, engine=engine.name, engine_options=options)


def _differ(result: Record) -> str:
    pairs = ", ".join(f"{name} {digest}" for name, digest in result["digests"].items())
    return f"the engines' answers to {result['workload']} differ: {pairs}"


def records_of(result: Record, folder: Path) -> list[Record]:
    """Read the run records that a `compare.json` of `folder` names."""
    return [record.read(within(folder, str(path))) for path in result["records"].values()]
