"""Fifth step of a trial: its answer is verified while the files are written to the disk."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import NamedTuple

from cuesta.lab import inputs, remote
from cuesta.lab.background import BackgroundTask
from cuesta.lab.probe import Probe
from cuesta.lab.record import Completion
from cuesta.lab.steps.annotate import Annotated
from cuesta.lab.steps.execute import Executed
from cuesta.lab.verify import NONE, UNVERIFIED, Verification, strictly, with_derived
from cuesta.workloads.preview import View, preview


class Verified(NamedTuple):
    """A trial with a verdict on its answer, whose files are on the disk; `views` preview it."""

    executed: Executed
    completion: Completion
    views: tuple[View, ...]


def verify(annotated: Annotated) -> Verified:
    """Verify and preview an answer.

    Errors: `InputError` if the disk is full, or if files or inputs cannot be read.
    """
    executed, naming = annotated.executed, annotated.naming
    prepared = executed.prepared
    with inputs.unchanged(prepared.marks, prepared.trial.inputs):
        completion, views = _complete(executed)
    counts = [sample.outcome.counts for sample in executed.samples]
    counts += [naming.counts] if naming else []
    names = [str(file["name"]) for file in completion.files]
    verification = remote.note_copies(completion.verification, prepared.trial, executed.readable)
    verification = with_derived(
        verification, prepared.trial, prepared.folder.answer, prepared.request.plan.sample_name
    )
    verification = strictly(verification, names, counts)
    completion = replace(completion, verification=verification, naming=naming)
    return Verified(executed=executed, completion=completion, views=tuple(views))


def _complete(executed: Executed) -> tuple[Completion, list[View]]:
    """Verify and preview the answer while its files are written."""
    trial, folder = executed.readable, executed.prepared.folder
    with Probe() as probe:
        views = BackgroundTask(lambda: preview(trial.workload, folder.answer, trial.parameters))
        verification = _verification(executed)
        executed.prepared.request.observer.stage("writing to the disk")
        verified = time.perf_counter()
        files_written = json.loads(executed.files.finish(trial.threads))["files"]
        disk_seconds = time.perf_counter() - verified
        drawn = views.result()
    completion = Completion(
        verification=verification,
        files=tuple(files_written),
        usage=probe.usage,
        disk_seconds=disk_seconds,
    )
    return completion, drawn


def _verification(executed: Executed) -> Verification:
    request, folder = executed.prepared.request, executed.prepared.folder
    level, observer = request.plan.verify, request.observer
    if level == NONE:
        return UNVERIFIED
    observer.stage("verifying")
    return request.plan.verifier(
        executed.readable,
        folder.answer,
        folder.scratch,
        level=level,
        progress=observer.progress,
    )
