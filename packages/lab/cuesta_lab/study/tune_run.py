"""Tuning by runs of a study: its combinations are the search space, its time is the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cuesta import machine
from cuesta.errors import InputError
from cuesta.lab.observer import Observer
from cuesta_lab.study import result, run
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.model import Study
from cuesta_lab.study.result import CombinationRuns, Result
from cuesta_lab.study.trials import StudyEnvironment
from cuesta_lab.study.tune import FIRST_HELD_OUT, Budget, TuningResult, tune

SCHEMA = "cuesta.tuned/1"
FILE_NAME = "tuned.json"
MEASURE = "work"
"""Measure that is minimised."""
CHOOSING_PART = 0.6
"""Part of the time budget for the selection; the rest is for the held-out runs."""


def tune_study(
    study: Study,
    default: Sequence[str],
    output: Path,
    environment: StudyEnvironment,
    observer: Observer,
) -> tuple[TuningResult, list[CombinationRuns]]:
    """Find the fastest combination of a study; return and write the result, `tuned.json`.

    Runs are saved and reused as those of a study; the numbers of held-out ones begin at
    `FIRST_HELD_OUT`. Arguments: `default` are levels, each `FACTOR=LEVEL`; other factors have their
    first level. Errors: as `run.run`; `InputError` if the default does not exist or fails.
    """
    work, all_runs = run.prepare(study, output, environment, observer)
    able = {runs.combination.name: runs for runs in all_runs if runs.left_out is None}
    first = _default(study, default, all_runs)
    count = 0

    def take(combination: Combination, repeat: int) -> float | None:
        nonlocal count
        count += 1
        which = "held-out run" if repeat >= FIRST_HELD_OUT else "run"
        measured = work.run_once(able[combination.name], repeat, f"{which} {count}")
        return None if measured is None else measured[MEASURE]

    budget = Budget(
        choosing=lambda: work.is_out_of_time(list(able.values()), CHOOSING_PART),
        all=lambda: work.is_out_of_time(list(able.values())),
    )
    space = [runs.combination for runs in able.values()]
    tuning = tune(space, first, take, budget, study.seed)
    record = _record(study, tuning, all_runs)
    record["machine"] = machine.describe({"output": output})
    record["seconds"] = work.seconds
    result.write(record, output, FILE_NAME)
    return tuning, all_runs


def _default(
    study: Study, choices: Sequence[str], all_runs: Sequence[CombinationRuns]
) -> Combination:
    levels = {factor.name: factor.levels[0].name for factor in study.factors}
    for words in choices:
        name, _, level = words.partition("=")
        factor = next((factor for factor in study.factors if factor.name == name), None)
        known = [level.name for level in factor.levels] if factor else []
        if level not in known:
            known_names = ", ".join(known) if known else f"factors {', '.join(levels)}"
            raise InputError(f"--default {words}: there is no such level; there are {known_names}")
        levels[name] = level
    first = next(runs for runs in all_runs if runs.combination.levels == levels)
    if first.left_out:
        raise InputError(
            f"the default, {first.combination.name}, is not run here: {first.left_out}"
        )
    return first.combination


def _record(study: Study, tuning: TuningResult, all_runs: Sequence[CombinationRuns]) -> Result:
    levels = {runs.combination.name: dict(runs.combination.levels) for runs in all_runs}
    return {
        "schema": SCHEMA,
        "name": study.name,
        "question": study.question,
        "seed": study.seed,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time())),
        "file": study.file_table,
        "default": levels[tuning.default],
        "winner": levels[tuning.winner],
        "verdict": tuning.verdict,
        "gain": tuning.gain and asdict(tuning.gain),
        "chosen_from": [
            {"levels": levels[name], "seconds": list(seconds)}
            for name, seconds in tuning.chosen_from.items()
        ],
        "held_out": [
            {"levels": levels[name], "seconds": list(seconds)}
            for name, seconds in tuning.held_out.items()
        ],
        "left_out": {runs.combination.name: runs.left_out for runs in all_runs if runs.left_out},
        "failed": {runs.combination.name: runs.failed for runs in all_runs if runs.failed},
    }
