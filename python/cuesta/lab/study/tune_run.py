"""Tunes by real runs: the combinations of a study are what may be set, its time is the budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cuesta import machine
from cuesta.errors import InputError
from cuesta.lab.observer import Observer
from cuesta.lab.study import result, run
from cuesta.lab.study.cells import Combination
from cuesta.lab.study.model import Study
from cuesta.lab.study.result import Found, Result
from cuesta.lab.study.trials import Means
from cuesta.lab.study.tune import FIRST_HELD_OUT, Budget, Tuned, tune

SCHEMA = "cuesta.tuned/1"
FILE_NAME = "tuned.json"
MEASURE = "work"
"""What is to be small."""
CHOOSING_PART = 0.6
"""Of the budget of time; the rest is for the held-out runs."""


def tuned(
    study: Study, default: Sequence[str], output: Path, means: Means, hears: Observer
) -> tuple[Tuned, list[Found]]:
    """Find the fastest combination of a study; return and write what came out, `tuned.json`.

    Runs are kept and taken again as those of a study are; the numbers of held-out ones begin at
    `FIRST_HELD_OUT`. Arguments: `default` are levels, each `FACTOR=LEVEL`, other factors have their
    first. Errors: as `run.run`; `InputError` where the default is none or fails.
    """
    work, found = run.prepared(study, output, means, hears)
    able = {one.combination.name: one for one in found if one.left_out is None}
    first = _default(study, default, found)
    count = 0

    def take(one: Combination, repeat: int) -> float | None:
        nonlocal count
        count += 1
        which = "held-out run" if repeat >= FIRST_HELD_OUT else "run"
        measured = work.once(able[one.name], repeat, f"{which} {count}")
        return None if measured is None else measured[MEASURE]

    budget = Budget(
        choosing=lambda: work.is_out_of_time(list(able.values()), CHOOSING_PART),
        all=lambda: work.is_out_of_time(list(able.values())),
    )
    space = [one.combination for one in able.values()]
    came = tune(space, first, take, budget, study.seed)
    told = _told(study, came, found)
    told["machine"] = machine.describe({"output": output})
    told["seconds"] = work.seconds
    result.write(told, output, FILE_NAME)
    return came, found


def _default(study: Study, asked: Sequence[str], found: Sequence[Found]) -> Combination:
    levels = {factor.name: factor.levels[0].name for factor in study.factors}
    for words in asked:
        name, _, level = words.partition("=")
        factor = next((one for one in study.factors if one.name == name), None)
        known = [one.name for one in factor.levels] if factor else []
        if level not in known:
            there = ", ".join(known) if known else f"factors {', '.join(levels)}"
            raise InputError(f"--default {words}: there is no such level; there are {there}")
        levels[name] = level
    own = next(one for one in found if one.combination.levels == levels)
    if own.left_out:
        raise InputError(f"the default, {own.combination.name}, is not run here: {own.left_out}")
    return own.combination


def _told(study: Study, came: Tuned, found: Sequence[Found]) -> Result:
    levels = {one.combination.name: dict(one.combination.levels) for one in found}
    return {
        "schema": SCHEMA,
        "name": study.name,
        "question": study.question,
        "seed": study.seed,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time())),
        "file": study.given,
        "default": levels[came.default],
        "winner": levels[came.winner],
        "verdict": came.verdict,
        "gain": came.gain and asdict(came.gain),
        "chosen_from": [
            {"levels": levels[name], "seconds": list(seconds)}
            for name, seconds in came.chosen_from.items()
        ],
        "held_out": [
            {"levels": levels[name], "seconds": list(seconds)}
            for name, seconds in came.held_out.items()
        ],
        "left_out": {one.combination.name: one.left_out for one in found if one.left_out},
        "failed": {one.combination.name: one.failed for one in found if one.failed},
    }
