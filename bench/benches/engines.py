"""Contestants that are other engines of cuesta, without their start-up and loading."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from cuesta.engines import Engine, get_engine
from cuesta.errors import CuestaError
from cuesta.trial import Outcome, Trial
from cuesta.workloads import get_workload
from harness.model import MEMORY_BYTES, THREADS, Answer, Contestant, Sample
from harness.native import Job

NOT_THE_WORK = frozenset({"start", "load"})
"""Phases that are not timed here: bringing up a session, filling an array database."""


def missing(name: str) -> str | None:
    """Why the engine cannot be used here, or None."""
    try:
        return get_engine(name).missing()
    except (CuestaError, ImportError) as error:
        return str(error)


def contestant(engine: Engine, job: Job, answer: Callable[[Path], Answer], how: str) -> Contestant:
    """Contestant of one of our engines; its time is the complete call but `NOT_THE_WORK`."""
    return Contestant(
        name=f"cuesta {engine.name}",
        how=how,
        work=lambda folder: timed(engine, job, folder),
        answer=lambda folder: answer(folder / "answer"),
        repeats_max=5,
    )


def timed(engine: Engine, job: Job, folder: Path) -> Sample:
    """Run `job`; its answer is in `folder/answer`."""
    started = time.perf_counter()
    outcome = run(engine, job, folder)
    seconds = time.perf_counter() - started
    setup_seconds = sum(phase.seconds for phase in outcome.phases if phase.name in NOT_THE_WORK)
    return Sample(seconds=seconds - setup_seconds)


def run(engine: Engine, job: Job, folder: Path) -> Outcome:
    """Run `job` on an engine."""
    trial = Trial(
        workload=job.workload,
        engine=engine.name,
        inputs=tuple(str(path) for path in job.inputs),
        parameters=get_workload(job.workload).check(job.parameters),
        threads=THREADS,
        memory_bytes=MEMORY_BYTES,
    )
    answer, scratch = folder / "answer", folder.parent / "scratch"
    answer.mkdir()
    # Outside the folder of a repeat: a session retains files there from one repeat to the next.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        return engine.run(trial, answer, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def close(engine: Engine) -> None:
    """End the engine's session, if it has one."""
    engine.close()
