"""First step of a trial: its check, and parameters that follow from its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cuesta import outputs
from cuesta.engines import Engine
from cuesta.errors import EngineMissing, InputError
from cuesta.lab import leftovers, names, record, remote, streams
from cuesta.lab.folder import check_output
from cuesta.lab.names import Names
from cuesta.lab.observer import Observer
from cuesta.lab.plan import REPEATS_MAX, Plan
from cuesta.lab.verify import LEVELS
from cuesta.trial import Trial, is_remote
from cuesta.workloads import get_workload

SEEDS = 1 << 64
"""Exclusive upper bound of seeds."""


class Request(NamedTuple):
    """A trial to run; `began` is the time of its beginning on the clock `time.perf_counter`."""

    engine: Engine
    trial: Trial
    plan: Plan
    observer: Observer
    began: float


class Resolved(NamedTuple):
    """A trial that can begin, with its names of genes, and their number if the names set it."""

    request: Request
    trial: Trial
    names: Names | None


def resolve(request: Request) -> Resolved:
    """Check a request, and read the names of genes. Errors: as `check`."""
    check(request.engine, request.trial, request.plan)
    trial, named = names.resolve(request.trial)
    return Resolved(request=request, trial=trial, names=named)


def check(engine: Engine, trial: Trial, plan: Plan) -> None:
    """Check all conditions that can be checked before any work.

    Errors: `InputError`; `EngineMissing` if the engine is not installed here.
    """
    workload = get_workload(trial.workload)
    workload.check(trial.parameters)
    workload.check_inputs(trial.inputs)
    if trial.workload not in engine.workloads:
        able = ", ".join(sorted(engine.workloads))
        raise InputError(f"engine {engine.name} does not run {trial.workload}; it runs {able}")
    workload.check_engine(engine.name, trial.parameters)
    missing = lacking(engine, trial)
    if missing:
        raise EngineMissing(missing)
    streams.check(trial)
    remote.check(engine, trial.inputs, plan.cache)
    if plan.verify not in LEVELS:
        raise InputError(f"--verify is {plan.verify!r}, give one of {', '.join(LEVELS)}")
    if not 0 <= trial.seed < SEEDS:
        raise InputError(f"--seed is {trial.seed}, give 0 to 2^64 - 1")
    if not 1 <= plan.repeats <= REPEATS_MAX:
        raise InputError(f"--repeat is {plan.repeats}, give 1 to {REPEATS_MAX}")
    if plan.scratch:
        outputs.check_local(plan.scratch, "--scratch")
    if plan.scratch and not plan.scratch.is_dir():
        raise InputError(f"--scratch {plan.scratch}: no such folder; make it, or choose another")
    if trial.parameters.get("resume"):
        _check_resume(trial, plan)
    check_output(plan.output, overwrite=plan.overwrite, inputs=_read_by(trial))
    if plan.scratch:
        # A subfolder, since the folder for scratch may contain an input.
        outputs.check_apart(plan.scratch / leftovers.SCRATCH_NAME, _read_by(trial), "--scratch")


def _read_by(trial: Trial) -> list[str]:
    """List the paths that a trial may read: inputs, names of genes, and paths in parameters."""
    words = [value for value in trial.parameters.values() if isinstance(value, str)]
    paths = [word for word in words if "/" in word]
    return [*trial.inputs, *([trial.names] if trial.names else []), *paths]


def lacking(engine: Engine, trial: Trial) -> str | None:
    """Packages to install for an engine with the options of `trial`, or None."""
    return engine.missing() or engine.missing_for(trial)


def _check_resume(trial: Trial, plan: Plan) -> None:
    """Raise `InputError` if resuming would change the timing, the answer, or an input."""
    if plan.repeats > 1:
        raise InputError(
            f"--repeat {plan.repeats} with --resume: a run would go on from what the one before "
            "kept; leave one of them out"
        )
    folder = Path(str(trial.parameters["resume"]))
    outputs.check_links(folder, "--resume")
    outputs.check_links(plan.output, "-o")
    outputs.check_apart(folder, trial.inputs, "--resume")
    if folder.resolve() == plan.output.resolve():
        raise InputError(
            f"--resume {folder} is the folder of -o too, which the answer replaces; give another "
            "--resume"
        )
    if (folder / record.FILE_NAME).exists():
        raise InputError(f"--resume {folder}: is an answer; give another folder")
    away = next((path for path in trial.inputs if is_remote(path)), None)
    if away:
        raise InputError(
            f"--resume with {away}: a copy there may have changed unseen; copy it here first"
        )
