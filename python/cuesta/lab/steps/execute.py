"""Third step of a trial: all measured runs of the engine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cuesta.lab import inputs, names, remote, streams
from cuesta.lab.probe import Probe, with_remote
from cuesta.lab.record import Context, Sample
from cuesta.lab.steps.prepare import Prepared
from cuesta.lab.verify import NONE
from cuesta.native import native_module
from cuesta.trial import Trial
from cuesta.units import format_seconds

if TYPE_CHECKING:
    from cuesta._native import AnswerFiles


class Executed(NamedTuple):
    """A trial whose engine has written its answer, and is closed.

    Attributes
    ----------
    samples
        All measured runs.
    files
        Files of the last run, not yet final.
    context
        Circumstances for the record, with the sizes of the inputs.
    readable
        The trial with inputs that this process can read.
    """

    prepared: Prepared
    samples: tuple[Sample, ...]
    files: AnswerFiles
    context: Context
    readable: Trial


def execute(prepared: Prepared) -> Executed:
    """Run the engine as often as the plan repeats, then close it. Errors: those of the engine."""
    engine, trial = prepared.engine, prepared.trial
    scratch = prepared.folder.scratch
    try:
        with inputs.unchanged(prepared.marks, trial.inputs):
            samples, files = _repeats(prepared)
        facts = remote.describe(engine, trial, scratch)
        readable = trial
        if prepared.request.plan.verify != NONE or names.reads_inputs(trial):
            readable = remote.with_copies(engine, trial, facts, scratch)
    finally:
        # Names and verification use the memory that the session has freed.
        engine.close()
    recorded_inputs = streams.restore_paths(facts, prepared.original)
    return Executed(
        prepared=prepared,
        samples=samples,
        files=files,
        context=replace(prepared.context, inputs=recorded_inputs),
        readable=readable,
    )


def _repeats(prepared: Prepared) -> tuple[tuple[Sample, ...], AnswerFiles]:
    """Make all runs; return the measured ones and the files of the last one, not yet final."""
    plan, folder = prepared.request.plan, prepared.folder
    for number in range(1, plan.warm_runs + 1):
        prepared.request.observer.stage(f"warm run {number} of {plan.warm_runs}")
        folder.empty()
        _repeat(prepared)
    samples: list[Sample] = []
    for number in range(1, plan.repeats + 1):
        stage = "running" if plan.repeats == 1 else f"run {number} of {plan.repeats}"
        prepared.request.observer.stage(stage)
        folder.empty()
        last = number == plan.repeats
        files = native_module().AnswerFiles(folder.answer) if last else None
        samples.append(_repeat(prepared))
        for phase in samples[-1].outcome.phases:
            prepared.request.observer.detail(f"{phase.name}: {format_seconds(phase.seconds)}")
    assert files is not None  # There is at least one run.
    return tuple(samples), files


def _repeat(prepared: Prepared) -> Sample:
    """Make a measured run into an empty answer folder."""
    engine, trial, folder = prepared.engine, prepared.converted, prepared.folder
    inputs.drop_cached(trial.inputs, prepared.request.plan.cache)
    with Probe(timeline=True) as probe:
        began = time.time()
        outcome = engine.run(trial, folder.answer, folder.scratch)
    log = engine.log_totals()
    stages = tuple(replace(stage, began=stage.began - began) for stage in engine.stages())
    remote_use = engine.remote_use(trial)
    return Sample(
        outcome=outcome,
        usage=with_remote(probe.usage, remote_use),
        log=log,
        stages=stages,
        timeline=probe.timeline,
        remote=remote_use,
    )
