"""Run of a trial: it passes each step once, and only then its answer gets a name."""

from __future__ import annotations

import time

from cuesta import machine
from cuesta.engines import Engine
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.plan import Plan
from cuesta.lab.record import Record
from cuesta.lab.steps.annotate import annotate
from cuesta.lab.steps.execute import execute
from cuesta.lab.steps.prepare import prepare
from cuesta.lab.steps.record import record
from cuesta.lab.steps.resolve import Request, resolve
from cuesta.lab.steps.verify import verify
from cuesta.trial import Trial


def run_trial(engine: Engine, trial: Trial, plan: Plan, observer: Observer | None = None) -> Record:
    """Run `trial` on `engine` and write the answer folder; return its run record.

    Errors: `InputError`, `EngineMissing`, `EngineError`; `VerificationError` if the answer is
    wrong, which then remains under its temporary name. In all cases `plan.output` is complete or
    does not exist.
    """
    began = time.perf_counter()
    machine.raise_limit_of_files()
    machine.share_arenas()
    request = Request(
        engine=engine, trial=trial, plan=plan, observer=observer or Silent(), began=began
    )
    with prepare(resolve(request)) as prepared:
        return record(verify(annotate(execute(prepared))))
