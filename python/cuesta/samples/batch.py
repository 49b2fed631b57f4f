"""A batch: the runs that a sheet and the options of one command stand for, all checked."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cuesta import outputs
from cuesta.api.declared import ONE_ENGINE, Option, common_options
from cuesta.api.keywords import Request, typed
from cuesta.api.options import (
    Common,
    checked,
    make_plan,
    make_trial,
    options,
    single_engine,
)
from cuesta.api.settings import filled
from cuesta.engines import get_engine
from cuesta.errors import InputError, disk_error
from cuesta.lab import leftovers
from cuesta.lab.steps.resolve import check
from cuesta.native import native_module, to_json
from cuesta.samples import finished, table
from cuesta.samples.packing import Resources, need_bytes
from cuesta.samples.sheet import Sample, Sheet
from cuesta.workloads import Workload

STOP_SECONDS = 20.0
"""Seconds in which the runs of a killed command are expected to end."""

_UNUSED = {
    "inputs": "reads", "first_mates": "-1", "second_mates": "-2", "single_reads": "-s",
    "parameter_pairs": "--pairs", "parameter_interleaved": "--interleaved",
    "parameter_singles": "--singles", "parameter_resume": "--resume", "json": "--json",
}  # fmt: skip
"""Options that a sheet replaces."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The run of a sample; its `request` still has the threads and memory of all."""

    sample: Sample
    request: Request
    need_bytes: int

    @property
    def folder(self) -> Path:
        """The answer folder."""
        return self.request.common.output

    def with_share(self, share: Resources) -> Request:
        """Return the request with its share of threads and memory."""
        common = replace(
            self.request.common, threads=share.threads, memory_bytes=share.memory_bytes
        )
        words = ("--threads", str(share.threads), "--memory", str(share.memory_bytes))
        return replace(self.request, common=common, command=(*self.request.command, *words))


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The runs of a sheet, in its order, and the resources of all."""

    output: Path
    sheet: Sheet
    tasks: tuple[Task, ...]
    total: Resources


def make(workload: Workload, sheet: Sheet, values: Mapping[str, Any]) -> Batch:
    """Return the batch of a sheet, every run of which is checked.

    Arguments: `values` are those of the options, of which `output` is the folder of all answers.
    Errors: `InputError` naming the option or the sample; nothing has been written then.
    """
    values = filled(values, [ONE_ENGINE, *common_options()]).values
    _check_values(values)
    output = Path(values["output"])
    outputs.check_local(output)
    _check_output(output)
    declared = options(workload, ONE_ENGINE)
    tasks = tuple(
        _task(workload, declared, sample, {**values, "output": output / sample.name})
        for sample in sheet.samples
    )
    for task in tasks:
        outputs.check_apart(output, task.request.inputs)
    common = tasks[0].request.common
    total = Resources(threads=common.threads, memory_bytes=common.memory_bytes)
    return Batch(output=output, sheet=sheet, tasks=tasks, total=total)


def waiting(batch: Batch) -> tuple[Task, ...]:
    """Return the tasks without an answer; existing answers are checked by their records.

    Errors: `InputError` where an answer is of something else and may not be replaced, or a run is
    not possible.
    """
    tasks = []
    for task in batch.tasks:
        common = task.request.common
        if os.path.lexists(task.folder):
            trial = trial_of(task)
            reason = finished.difference(task.folder, trial, common.verify, batch.total.threads)
            if not reason:
                continue
            if not common.overwrite:
                raise InputError(
                    f"{task.folder} is not the answer of this command: {reason}; give --overwrite "
                    "to make such answers anew, or another -o"
                )
        plan = make_plan(common, task.request.command)
        check(get_engine(common.engines[0]), trial_of(task), plan)
        tasks.append(task)
    return tuple(tasks)


def trial_of(task: Task) -> Any:
    """Return the trial of a task."""
    from cuesta.workloads import get_workload

    request = task.request
    workload = get_workload(request.workload)
    return make_trial(workload, request.inputs, dict(request.parameters), request.common)


@contextlib.contextmanager
def held(output: Path) -> Iterator[None]:
    """Make the folder of all answers, and hold it for this command alone.

    Runs that a killed command has left end first. Errors: `InputError` if another command has the
    folder, or it cannot be made.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(output, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise disk_error(error, str(output)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{output} is of another command, which has not ended; wait for it, or give "
                "another -o"
            ) from None
        except OSError:  # A file system without locks: each run still holds its own folder.
            pass
        _wait(output)
        yield
    finally:
        os.close(descriptor)


def _wait(output: Path) -> None:
    """Wait until runs of a killed command have ended."""
    end = time.monotonic() + STOP_SECONDS
    while leftovers.in_use(output) and time.monotonic() < end:
        time.sleep(0.05)


def _check_values(values: Mapping[str, Any]) -> None:
    """Refuse options that have no meaning for many samples. Errors: `InputError`."""
    for name, word in _UNUSED.items():
        if values.get(name):
            raise InputError(
                f"{word} with --samples: the sheet names the reads, and its samples are continued "
                "one by one; leave it out"
            )
    if values["repeat"] != 1 or values["cold"]:
        raise InputError(
            "--samples with --repeat or --cold: a batch is no measurement; leave them out"
        )
    if values["engines"].strip() != "native":
        raise InputError(
            f"--samples with --engine {values['engines']}: samples run side by side on engine "
            "native; leave --engine out, and give each node a part of the sheet"
        )


def _check_output(output: Path) -> None:
    """Refuse a folder of something else. Errors: `InputError`."""
    if not os.path.lexists(output):
        return
    try:
        is_foreign = any(output.iterdir()) and not table.is_batch(output)
    except OSError as error:
        raise disk_error(error, str(output)) from None
    if is_foreign:
        raise InputError(
            f"{output} is there and has no {table.FILE_NAME} of samples; give another -o"
        )


def _task(
    workload: Workload, declared: Sequence[Option], sample: Sample, values: dict[str, Any]
) -> Task:
    """Return the task of a sample. Errors: `InputError`."""
    reads = _words_of_reads(sample)
    inputs, parameters, common = checked(workload, ONE_ENGINE, {**values, **reads})
    single_engine(common)
    # The workload's own check, which a run makes when it begins.
    native_module().parameters(workload.name, to_json(parameters))
    line = _line(workload, declared, common, {**values, **reads})
    request = Request(
        workload=workload.name, inputs=inputs, parameters=parameters, common=common, command=line
    )
    sizes = {
        is_packed: sum(file.bytes for file in sample.files if file.is_packed is is_packed)
        for is_packed in (True, False)
    }
    return Task(sample=sample, request=request, need_bytes=need_bytes(sizes[True], sizes[False]))


def _words_of_reads(sample: Sample) -> dict[str, Any]:
    """Return the values of the options that name the files of a sample."""
    singles = [file.path for file in sample.singles]
    if not sample.pairs:
        return {"inputs": singles}
    first, second = ([pair[side].path for pair in sample.pairs] for side in (0, 1))
    return {"first_mates": first, "second_mates": second, "single_reads": singles or None}


def _line(
    workload: Workload, declared: Sequence[Option], common: Common, values: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the command line that makes the answer of this sample alone, threads apart."""
    words: list[str] = []
    for option in declared:
        value = values.get(option.name)
        if option.name in ("output", "threads", "memory") or value in (None, option.default):
            continue
        words += typed(option, value)
    inputs = values["inputs"] or ()
    return (
        "cuesta", "run", workload.name, *inputs, *words, "--output", str(common.output),
    )  # fmt: skip
