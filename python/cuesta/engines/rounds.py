"""Rounds, the contract of distributed work: a leader plans them, workers run their tasks.

Both are in the native module; an engine only transports bytes between them. See
`crates/runtime/src/rounds.rs`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.engines.request import native_request
from cuesta.errors import InputError
from cuesta.native import from_response, native_module, request_fields, to_json
from cuesta.trial import Outcome, Phase, Trial
from cuesta.units import format_bytes
from cuesta.workloads import get_workload

SLOT_BYTES_MIN = 16 << 20
"""Least memory for a task, and for the leader."""


def workloads() -> frozenset[str]:
    """Return workloads described in rounds. Errors: `EngineMissing` without the native module."""
    return frozenset(native_module().WITH_ROUNDS)


@dataclass(frozen=True, kw_only=True)
class Means:
    """The resources and properties of an engine for a run.

    Attributes
    ----------
    slots
        Number of tasks that run at once.
    nodes
        Number of nodes that the slots are on.
    memory_bytes
        Memory of the slots on a node and of the leader: the limit less the overhead of processes.
    tasks, task_bytes
        Requested number of tasks and parts, or bytes that a task reads; None to choose.
    keeps
        Whether the same worker runs the tasks and parts of a number in all rounds.
    text
        Whether the engine's shuffle takes pairs of text.
    slow_to_begin
        Whether a task or part takes seconds to begin.
    """

    slots: int
    memory_bytes: int
    nodes: int = 1
    tasks: int | None = None
    task_bytes: int | None = None
    keeps: bool = False
    text: bool = False
    slow_to_begin: bool = False


@dataclass(frozen=True, kw_only=True)
class Round:
    """Independent tasks; with `parts`, they send blocks to these.

    Blocks of text are lines of a key, a tab and a value; parts may receive lines of a key and
    several of its values.
    """

    phase: str
    size_bytes: int
    rows: int
    flops: int
    ceiling: str | None
    parts: int
    combines: bool
    is_text: bool
    shared: bytes
    tasks: tuple[bytes, ...]

    def to_phase(self, seconds: float) -> Phase:
        """Return the phase of the round, with its duration."""
        return Phase(
            name=self.phase,
            seconds=seconds,
            bytes=self.size_bytes or None,
            rows=self.rows or None,
            flops=self.flops or None,
            ceiling=self.ceiling,
        )


@dataclass(frozen=True, kw_only=True)
class Job:
    """The input of a run's workers: the request to the native module, as JSON, and the means."""

    workload: str
    request: str
    means: Means

    def worker(self) -> Any:
        """Return a worker, which runs tasks."""
        means = to_json(asdict(self.means))
        return native_module().Worker(self.workload, self.request, means)


class Leader:
    """The leader of a run. Errors of its methods: those of the native module."""

    def __init__(self, job: Job) -> None:
        means = to_json(asdict(job.means))
        self._leader = native_module().Leader(job.workload, job.request, means)
        self._workload = get_workload(job.workload)
        self._tasks = 0
        self.counts: dict[str, int] = {}

    def next(self, results: list[Any]) -> Round | None:
        """Plan the next round from the results of the last one; return None at the end.

        Clears the list: its buffers may be most of the memory.
        """
        planned = self._leader.next(results)
        results.clear()
        if planned is None:
            return None
        facts, shared, tasks = planned
        self._tasks = max(self._tasks, len(tasks))
        return Round(shared=shared, tasks=tuple(tasks), **from_response(facts))

    def phases(self) -> list[Phase]:
        """Return the leader's own phases since the last call; at the end, set the counts."""
        report = from_response(self._leader.told())
        self.counts = {**report["counts"], "tasks": self._tasks}
        return [self._workload.phase(row) for row in report["phases"]]


def requested_tasks(trial: Trial) -> int | None:
    """Return the engine option `tasks`, the number of tasks and parts. Errors: `InputError`."""
    tasks = trial.engine_options.get("tasks")
    if tasks is not None and (not tasks.isdecimal() or int(tasks) < 1):
        raise InputError(f"--engine-option tasks is {tasks}, give at least 1")
    return int(tasks) if tasks else None


def memory_without_overhead(trial: Trial, overhead_bytes: int, slots: int) -> int:
    """Return the memory limit less the overhead of processes without a task, in bytes.

    Errors: `InputError` when that is not enough for `slots`.
    """
    least = overhead_bytes + (slots + 1) * SLOT_BYTES_MIN
    check_memory(trial, least, f"{slots} tasks at once")
    return trial.memory_bytes - overhead_bytes


def check_memory(trial: Trial, least_bytes: int, purpose: str) -> None:
    """Check that the memory limit is at least `least_bytes`. Errors: `InputError`."""
    if trial.memory_bytes < least_bytes:
        raise InputError(
            f"--memory is {format_bytes(trial.memory_bytes)}, engine {trial.engine} needs at least "
            f"{format_bytes(least_bytes)} for {purpose}; give at least that"
        )


def check(trial: Trial, places: tuple[Path, Path]) -> None:
    """Check a trial before an engine starts. Errors: `InputError`."""
    means = Means(slots=1, memory_bytes=trial.memory_bytes)
    request = native_request(request_fields(trial, *places))
    Leader(Job(workload=trial.workload, request=request, means=means))


def run(
    trial: Trial,
    places: tuple[Path, Path],
    means: Means,
    engine: Callable[[Job, Round], list[bytes]],
) -> Outcome:
    """Lead a run whose rounds `engine` executes; it returns the results of tasks, or of parts.

    Arguments: `places` are the folders of the answer and of scratch; all workers share them.
    Errors: those of the leader and of `engine`.
    """
    output, scratch = places
    phases: list[Phase] = []
    with removal.temporary_folder(folder=scratch, prefix="rounds-") as folder:
        trial, converted = get_workload(trial.workload).readable(trial, scratch)
        fields = request_fields(trial, output, Path(folder))
        job = Job(workload=trial.workload, request=native_request(fields), means=means)
        leader = Leader(job)
        results: list[bytes] = []
        while (round_ := leader.next(results)) is not None:
            phases += leader.phases()
            started = time.perf_counter()
            results = engine(job, round_)
            phases.append(round_.to_phase(time.perf_counter() - started))
        phases += leader.phases()
    return Outcome(phases=joined((*converted, *phases)), counts=leader.counts)


def combined(worker: Any, round_: Round, results: Iterable[bytes]) -> list[bytes]:
    """Combine the results of several tasks into one; return an empty list without results."""
    collected = list(results)
    if not collected:
        return []
    return [reduce(lambda left, right: worker.combine(round_.shared, left, right), collected)]


def joined(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Merge phases of the same name, in the order of their first occurrence."""
    by_name: dict[str, Phase] = {}
    for phase in phases:
        previous = by_name.get(phase.name)
        by_name[phase.name] = _sum(previous, phase) if previous else phase
    return tuple(by_name.values())


def _sum(first: Phase, second: Phase) -> Phase:
    return replace(
        first,
        seconds=first.seconds + second.seconds,
        bytes=(first.bytes or 0) + (second.bytes or 0) or None,
        rows=(first.rows or 0) + (second.rows or 0) or None,
        flops=(first.flops or 0) + (second.flops or 0) or None,
    )
