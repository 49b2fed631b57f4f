"""Second step of a trial: what must exist before the engine runs, outside the timed part."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cuesta import __version__, machine
from cuesta.engines import Engine
from cuesta.lab import inputs, leftovers, names, preflight, streams
from cuesta.lab.folder import AnswerFolder
from cuesta.lab.observer import Observer
from cuesta.lab.plan import Plan
from cuesta.lab.record import Context
from cuesta.lab.steps.resolve import Request, Resolved
from cuesta.trial import Trial, is_remote
from cuesta.units import format_bytes
from cuesta.workloads import distinct, doubts, edges, recognised, sources


class Prepared(NamedTuple):
    """A trial whose folders and readable inputs exist.

    Attributes
    ----------
    engine
        The engine, which reports its progress.
    original
        The trial with the inputs of its record, of which some may be streams.
    trial
        The trial whose streams are saved in files.
    converted
        The trial for the engine, without edge lists.
    folder
        Folders of the answer and of temporary files.
    context
        Circumstances for the record, except the sizes of the inputs.
    marks
        State of the inputs, which must not change until the end.
    remarks
        Remarks on the inputs, for the record.
    """

    request: Request
    engine: Engine
    original: Trial
    trial: Trial
    converted: Trial
    folder: AnswerFolder
    context: Context
    marks: inputs.Marks
    remarks: tuple[str, ...] = ()


@contextmanager
def prepare(resolved: Resolved) -> Iterator[Prepared]:
    """Make the folders of a trial, and readable files of its inputs; remove them at the end.

    Errors: `InputError` if a disk is full, an input cannot be read, or the system allows too few
    threads.
    """
    request, trial = resolved.request, resolved.trial
    plan, observer = request.plan, request.observer
    machine.check_address_space(trial.memory_bytes)
    machine.check_threads(trial.threads)
    for sentence in _details(trial, plan):
        observer.detail(sentence)
    request.engine.prepare(observer.note)
    for sentence in leftovers.sweep(plan.output.resolve(), plan.scratch):
        observer.note(sentence)
    has_streams = bool(streams.list_streams(trial))
    if not has_streams:
        _announce(trial, plan, observer)
    engine = request.engine.with_progress(observer.progress)
    with (
        AnswerFolder(
            plan.output, overwrite=plan.overwrite, scratch=plan.scratch, inputs=trial.inputs
        ) as folder,
        streams.saved(trial, folder.streams, observer) as saved,
        sources.named(trial, (folder.streams, folder.scratch)),
    ):
        if has_streams:
            _announce(saved, plan, observer)
        context = replace(_context(saved, plan), names=resolved.names)
        marks = inputs.marks(saved.inputs)
        # Scratch is emptied before each repeat.
        remarks = edges.prepare(saved, folder.streams, observer)
        remarks += [*names.remarks(saved), *distinct.remarks(saved)]
        yield Prepared(
            request=request,
            engine=engine,
            original=trial,
            trial=saved,
            converted=edges.converted(saved, folder.streams),
            folder=folder,
            context=context,
            marks=marks,
            remarks=tuple(remarks),
        )


def _details(trial: Trial, plan: Plan) -> Iterator[str]:
    """Yield sentences on how the trial runs, and on settings that nobody typed."""
    memory = format_bytes(trial.memory_bytes)
    yield f"engine {trial.engine}, {trial.threads} threads, {memory} of memory"
    for setting in plan.settings:
        yield f"{setting['name']} is {setting['value']}, set by {setting['source']}"


def _announce(trial: Trial, plan: Plan, observer: Observer) -> None:
    """Report the needs of a run before it begins.

    Errors: `InputError` if a disk is full, or an input does not exist.
    """
    facts = tuple(inputs.describe(path) for path in trial.inputs if not is_remote(path))
    scratch = plan.scratch or plan.output
    needs = preflight.estimate(trial, facts, plan.output, scratch, plan.ceilings)
    preflight.check(needs, plan.output, scratch)
    distinct.check(trial)
    for sentence in preflight.sentences(needs):
        observer.note(sentence)
    for sentence in [*recognised.sentences(trial), *doubts.before(trial)]:
        observer.note(sentence)


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
        warm_runs=plan.warm_runs,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plan.now)),
        command=plan.command,
        sample=plan.sample_name,
        settings=plan.settings,
    )
