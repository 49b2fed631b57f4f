"""Last step of a trial: its record, and the name of its answer."""

from __future__ import annotations

import time
from pathlib import Path

from cuesta.errors import CuestaError, InputError, VerificationError
from cuesta.lab import inputs
from cuesta.lab.record import Record, build, times, write
from cuesta.lab.steps.verify import Verified
from cuesta.lab.verify import Verification
from cuesta.trial import Trial
from cuesta.workloads import doubts


def record(verified: Verified) -> Record:
    """Write the record, and give the answer its name; return the record.

    Errors: `VerificationError` if the answer is wrong, which then remains under its temporary name;
    `InputError` if an input has changed.
    """
    executed, completion = verified.executed, verified.completion
    prepared = executed.prepared
    request, trial, folder = prepared.request, prepared.trial, prepared.folder
    result = build(trial, executed.context, executed.samples, completion)
    as_typed_seconds = request.plan.startup_seconds + time.perf_counter() - request.began
    result["time"] = times(executed.samples, completion, as_typed_seconds)
    if completion.verification.verified is False:
        write(result, folder.keep())
        changed = inputs.changed(prepared.marks, trial.inputs)
        raise _refusal(trial, completion.verification, folder.answer, changed)
    counts = result["answer"]["counts"]
    remarks = doubts.views(trial, folder.answer, counts, prepared.remarks)
    result["preview"] = [*verified.views, *remarks]
    write(result, folder.answer)
    for sentence in folder.finish():
        request.observer.note(sentence)
    request.observer.detail(f"answer in {request.plan.output}: digest {result['answer']['digest']}")
    return result


def _refusal(
    trial: Trial, verification: Verification, answer: Path, changed: Path | None
) -> CuestaError:
    """Return the error of a wrong answer; `changed` is an input that changed meanwhile."""
    if changed is not None:
        return _changed(changed, answer)
    resumed = trial.parameters.get("resume")
    remedy = (
        f"; if it went on from what {resumed} holds, that may be damaged: run again with another "
        "folder in --resume"
        if resumed
        else ""
    )
    return VerificationError(
        f"the answer of {trial.workload} on {trial.engine} is wrong: {verification.fault}; "
        f"the files are left in {answer}{remedy}"
    )


def _changed(file: Path, answer: Path) -> InputError:
    return InputError(
        f"{file}: the input changed while it was read; the answer, left in {answer}, is of no one "
        "state of it; run again with an input that stays as it is"
    )
