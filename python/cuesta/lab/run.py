"""Run of a trial: prepare, repeat, verify, record, and only then name the answer."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta import __version__, machine, outputs
from cuesta.engines import Engine
from cuesta.errors import (
    CuestaError,
    EngineError,
    EngineMissing,
    InputError,
    VerificationError,
)
from cuesta.lab import inputs, leftovers, names, preflight, record, remote, streams
from cuesta.lab.background import BackgroundTask
from cuesta.lab.folder import AnswerFolder, check_output
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.probe import Probe, with_remote
from cuesta.lab.record import Completion, Context, Record, Sample
from cuesta.lab.verify import (
    FULL,
    LEVELS,
    NONE,
    UNVERIFIED,
    Verification,
    Verifier,
    strictly,
    verify,
)
from cuesta.native import native_module
from cuesta.trial import Trial, is_remote
from cuesta.workloads import doubts, edges, get_workload, recognised
from cuesta.workloads.preview import View, preview

if TYPE_CHECKING:
    from cuesta._native import AnswerFiles

REPEATS_MAX = 1000
SEEDS = 1 << 64
"""Exclusive upper bound of seeds."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Options of a run that cannot change the answer.

    Attributes
    ----------
    output
        The answer folder to make.
    overwrite
        Whether an existing answer may be replaced.
    repeats
        Number of runs, 1 to `REPEATS_MAX`; the files of the last run are the answer.
    cache
        State of the page cache before each repeat, a `CACHE_` constant of `cuesta.lab.inputs`.
    scratch
        Folder for temporary files; next to the output when None.
    ceilings
        Measured ceilings of the machine by name, or None.
    command
        Words of the command line, for the record.
    verifier
        Function that verifies the answer.
    verify
        Level of the verification, one of `cuesta.lab.verify.LEVELS`.
    now
        Current time in seconds since 1970.
    startup_seconds
        Time of the command so far, e.g. to start Python.
    """

    output: Path
    overwrite: bool = False
    repeats: int = 1
    cache: str = inputs.CACHE_AS_IS
    scratch: Path | None = None
    ceilings: Mapping[str, float] | None = None
    command: tuple[str, ...] = ()
    verifier: Verifier = field(default=verify)
    verify: str = FULL
    now: float = field(default_factory=time.time)
    startup_seconds: float = 0.0


def run_trial(engine: Engine, trial: Trial, plan: Plan, observer: Observer | None = None) -> Record:
    """Run `trial` on `engine` and write the answer folder; return its run record.

    Errors: `InputError`, `EngineMissing`, `EngineError`; `VerificationError` if the answer is
    wrong, which then remains under its temporary name. In all cases `plan.output` is complete or
    does not exist.
    """
    began = time.perf_counter()
    machine.raise_limit_of_files()
    observer = observer or Silent()
    check(engine, trial, plan)
    trial, named = names.resolve(trial)
    engine.prepare(observer.note)
    for sentence in leftovers.sweep(plan.output.resolve(), plan.scratch):
        observer.note(sentence)
    original, has_streams = trial, bool(streams.list_streams(trial))
    if not has_streams:
        _announce(trial, plan, observer)
    engine = engine.with_progress(observer.progress)
    with (
        AnswerFolder(
            plan.output, overwrite=plan.overwrite, scratch=plan.scratch, inputs=original.inputs
        ) as folder,
        streams.saved(original, folder.streams, observer) as trial,
    ):
        if has_streams:
            _announce(trial, plan, observer)
        context = replace(_context(trial, plan), names=named)
        before = inputs.marks(trial.inputs)
        # Scratch is emptied before each repeat.
        edges.prepare(trial, folder.streams, observer)
        converted = edges.converted(trial, folder.streams)
        try:
            with _unchanged(before, trial.inputs):
                samples, files = _repeats(engine, converted, plan, folder, observer)
            facts = remote.describe(engine, trial, folder.scratch)
            context = replace(context, inputs=streams.restore_paths(facts, original))
            readable = trial
            if plan.verify != NONE or names.wants_graph(trial):
                readable = remote.with_copies(engine, trial, facts, folder.scratch)
        finally:
            engine.close()
        # Names and verification use the memory that the session has freed.
        naming = names.annotate(readable, folder.answer, folder.scratch, observer)
        files.settle()
        with _unchanged(before, trial.inputs):
            completion, views = _end(readable, plan, folder, files, observer)
        reported_counts = [sample.outcome.counts for sample in samples]
        reported_counts += [naming.counts] if naming else []
        verification = remote.note_copies(completion.verification, trial, readable)
        verification = strictly(verification, _files(completion), reported_counts)
        completion = replace(completion, verification=verification, naming=naming)
        result = record.build(trial, context, samples, completion)
        as_typed_seconds = plan.startup_seconds + time.perf_counter() - began
        result["time"] = record.times(samples, completion, as_typed_seconds)
        if verification.verified is False:
            record.write(result, folder.keep())
            changed = inputs.changed(before, trial.inputs)
            raise _refusal(trial, verification, folder.answer, changed)
        counts = result["answer"]["counts"]
        result["preview"] = [*views, *doubts.views(trial, folder.answer, counts)]
        record.write(result, folder.answer)
        for sentence in folder.finish():
            observer.note(sentence)
    return result


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
        raise InputError(f"--scratch {plan.scratch}: no such folder")
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
    """Raise `InputError` if resuming from checkpoints would change the timing or the answer."""
    if plan.repeats > 1:
        raise InputError(
            f"--repeat {plan.repeats} with --resume: a run would go on from what the one before "
            "kept; leave one of them out"
        )
    away = next((path for path in trial.inputs if is_remote(path)), None)
    if away:
        raise InputError(
            f"--resume with {away}: a copy there may have changed unseen; copy it here first"
        )


def _announce(trial: Trial, plan: Plan, observer: Observer) -> None:
    """Report the needs of a run before it begins.

    Errors: `InputError` if a disk is full, or an input does not exist.
    """
    facts = tuple(inputs.describe(path) for path in trial.inputs if not is_remote(path))
    scratch = plan.scratch or plan.output
    needs = preflight.estimate(trial, facts, plan.output, scratch, plan.ceilings)
    preflight.check(needs, plan.output, scratch)
    for sentence in preflight.sentences(needs):
        observer.note(sentence)
    for sentence in [*recognised.sentences(trial), *doubts.before(trial)]:
        observer.note(sentence)


def _repeats(
    engine: Engine, trial: Trial, plan: Plan, folder: AnswerFolder, observer: Observer
) -> tuple[list[Sample], AnswerFiles]:
    """Make all measured runs; return them and the files of the last one, not yet final."""
    samples: list[Sample] = []
    for number in range(1, plan.repeats + 1):
        observer.stage("running" if plan.repeats == 1 else f"run {number} of {plan.repeats}")
        folder.empty()
        last = number == plan.repeats
        files = native_module().AnswerFiles(folder.answer) if last else None
        samples.append(_repeat(engine, trial, plan, folder))
    assert files is not None  # There is at least one run.
    return samples, files


def _repeat(engine: Engine, trial: Trial, plan: Plan, folder: AnswerFolder) -> Sample:
    """Make a measured run into an empty answer folder."""
    inputs.drop_cached(trial.inputs, plan.cache)
    with Probe(timeline=True) as probe:
        began = time.time()
        outcome = engine.run(trial, folder.answer, folder.scratch)
    log = engine.log_totals()
    stages = tuple(replace(stage, began=stage.began - began) for stage in engine.stages())
    remote = engine.remote_use(trial)
    return Sample(
        outcome=outcome,
        usage=with_remote(probe.usage, remote),
        log=log,
        stages=stages,
        timeline=probe.timeline,
        remote=remote,
    )


def _end(
    trial: Trial, plan: Plan, folder: AnswerFolder, files: AnswerFiles, observer: Observer
) -> tuple[Completion, list[View]]:
    """Verify and preview the answer while its files are written; `trial` has readable inputs.

    Errors: `InputError` if the disk is full, or if files or inputs cannot be read.
    """
    with Probe() as probe:
        views = BackgroundTask(lambda: preview(trial.workload, folder.answer, trial.parameters))
        verification = UNVERIFIED
        if plan.verify != NONE:
            observer.stage("verifying")
            verification = plan.verifier(
                trial, folder.answer, folder.scratch, level=plan.verify, progress=observer.progress
            )
        observer.stage("writing to the disk")
        verified = time.perf_counter()
        files_written = json.loads(files.finish(trial.threads))["files"]
        disk_seconds = time.perf_counter() - verified
        drawn = views.result()
    completion = Completion(
        verification=verification,
        files=tuple(files_written),
        usage=probe.usage,
        disk_seconds=disk_seconds,
    )
    return completion, drawn


def _files(completion: Completion) -> list[str]:
    return [str(file["name"]) for file in completion.files]


def _context(trial: Trial, plan: Plan) -> Context:
    """Context of a trial, except the sizes of its inputs."""
    places = {"output": plan.output}
    if trial.inputs and not is_remote(trial.inputs[0]):
        places["input"] = Path(trial.inputs[0])
    places |= {"scratch": plan.scratch} if plan.scratch else {}
    return Context(
        inputs=(),
        machine=machine.describe(places),
        versions={"cuesta": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
        ceilings=plan.ceilings,
        cache=plan.cache,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plan.now)),
        command=plan.command,
    )


@contextlib.contextmanager
def _unchanged(before: inputs.Marks, paths: Sequence[str]) -> Iterator[None]:
    """Report the change of an input as the cause of an error, if one changed meanwhile."""
    try:
        yield
    except (InputError, EngineError) as error:
        changed = inputs.changed(before, paths)
        if changed is None:
            raise
        raise InputError(
            f"{changed}: the input changed while it was read ({error}); run again with an input "
            "that stays as it is"
        ) from None


def _refusal(
    trial: Trial, verification: Verification, answer: Path, changed: Path | None
) -> CuestaError:
    """Return the error of a wrong answer; `changed` is an input that changed meanwhile."""
    if changed is not None:
        return _changed(changed, answer)
    return VerificationError(
        f"the answer of {trial.workload} on {trial.engine} is wrong: {verification.fault}; "
        f"the files are left in {answer}"
    )


def _changed(file: Path, answer: Path) -> InputError:
    return InputError(
        f"{file}: the input changed while it was read; the answer, left in {answer}, is of no one "
        "state of it; run again with an input that stays as it is"
    )
