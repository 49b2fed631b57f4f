"""Rounds, the contract of distributed work: what leads a run plans them, workers do their tasks.

Both are in the native module; an engine only carries bytes between them. See
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
"""Least memory for a task, and for what leads."""


def workloads() -> frozenset[str]:
    """Those that are described in rounds. Errors: `EngineMissing` without the native module."""
    return frozenset(native_module().WITH_ROUNDS)


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an engine offers to a run.

    Attributes
    ----------
    slots
        How many tasks run at once.
    nodes
        How many nodes they are on.
    memory_bytes
        Memory of all of them on a node, and of what leads: what the processes themselves leave of
        the limit.
    tasks, task_bytes
        How many tasks and parts there shall be, or bytes that a task reads, where that was said.
    keeps
        Whether one worker does the tasks and parts of one number in all rounds.
    text
        Whether its shuffle takes pairs of text.
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
    """Tasks that know nothing of each other; with `parts`, they send blocks to these.

    Blocks that are text are lines of a key, a tab and a value; parts may be given lines of a key
    and several of its values.
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

    def lasted(self, seconds: float) -> Phase:
        """The phase that it was."""
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
    """A run as its workers know it: the request of the native module, as JSON, and the means."""

    workload: str
    request: str
    means: Means

    def worker(self) -> Any:
        """Who does tasks."""
        means = to_json(asdict(self.means))
        return native_module().Worker(self.workload, self.request, means)


class Leader:
    """What leads a run. Errors of its methods: those of the native module."""

    def __init__(self, job: Job) -> None:
        means = to_json(asdict(job.means))
        self._leader = native_module().Leader(job.workload, job.request, means)
        self._workload = get_workload(job.workload)
        self._tasks = 0
        self.counts: dict[str, int] = {}

    def next(self, found: list[Any]) -> Round | None:
        """The next round, from the buffers that were found in the last one; None at the end.

        Takes the buffers out of the list: they may be most of the memory.
        """
        planned = self._leader.next(found)
        found.clear()
        if planned is None:
            return None
        facts, shared, tasks = planned
        self._tasks = max(self._tasks, len(tasks))
        return Round(shared=shared, tasks=tuple(tasks), **from_response(facts))

    def phases(self) -> list[Phase]:
        """What it has done itself since the last call; at the end, there are the counts too."""
        told = from_response(self._leader.told())
        self.counts = {**told["counts"], "tasks": self._tasks}
        return [self._workload.phase(row) for row in told["phases"]]


def tasks_asked(trial: Trial) -> int | None:
    """The engine option `tasks`: how many tasks and parts there shall be. Errors: `InputError`."""
    tasks = trial.engine_options.get("tasks")
    if tasks is not None and (not tasks.isdecimal() or int(tasks) < 1):
        raise InputError(f"--engine-option tasks is {tasks}, give at least 1")
    return int(tasks) if tasks else None


def memory_left(trial: Trial, beside_bytes: int, slots: int) -> int:
    """What is left of the limit beside processes that take so many bytes without a task.

    Errors: `InputError` when that is not enough for so many slots.
    """
    least = beside_bytes + (slots + 1) * SLOT_BYTES_MIN
    check_memory(trial, least, f"{slots} tasks at once")
    return trial.memory_bytes - beside_bytes


def check_memory(trial: Trial, least_bytes: int, purpose: str) -> None:
    """Refuse a limit of memory below the known least. Errors: `InputError`."""
    if trial.memory_bytes < least_bytes:
        raise InputError(
            f"--memory is {format_bytes(trial.memory_bytes)}, engine {trial.engine} needs at least "
            f"{format_bytes(least_bytes)} for {purpose}"
        )


def check(trial: Trial, places: tuple[Path, Path]) -> None:
    """Refuse what can be refused before an engine starts. Errors: `InputError`."""
    means = Means(slots=1, memory_bytes=trial.memory_bytes)
    request = native_request(request_fields(trial, *places))
    Leader(Job(workload=trial.workload, request=request, means=means))


def run(
    trial: Trial,
    places: tuple[Path, Path],
    means: Means,
    engine: Callable[[Job, Round], list[bytes]],
) -> Outcome:
    """Lead a run whose tasks `engine` has done; it returns what they found, or what parts did.

    Arguments: `places` are the folders of the answer and of scratch; all workers share them.
    Errors: those of the leader and of `engine`.
    """
    output, scratch = places
    phases: list[Phase] = []
    with removal.temporary_folder(folder=scratch, prefix="rounds-") as folder:
        trial, converted = get_workload(trial.workload).readable(trial, scratch)
        asked = request_fields(trial, output, Path(folder))
        job = Job(workload=trial.workload, request=native_request(asked), means=means)
        leader = Leader(job)
        found: list[bytes] = []
        while (round_ := leader.next(found)) is not None:
            phases += leader.phases()
            started = time.perf_counter()
            found = engine(job, round_)
            phases.append(round_.lasted(time.perf_counter() - started))
        phases += leader.phases()
    return Outcome(phases=joined((*converted, *phases)), counts=leader.counts)


def combined(worker: Any, round_: Round, found: Iterable[bytes]) -> list[bytes]:
    """What several tasks found, as if one had; nothing of nothing."""
    each = list(found)
    if not each:
        return []
    return [reduce(lambda one, other: worker.combine(round_.shared, one, other), each)]


def joined(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Phases of one name as one, in the order in which they came first."""
    all_: dict[str, Phase] = {}
    for phase in phases:
        same = all_.get(phase.name)
        all_[phase.name] = _sum(same, phase) if same else phase
    return tuple(all_.values())


def _sum(one: Phase, other: Phase) -> Phase:
    return replace(
        one,
        seconds=one.seconds + other.seconds,
        bytes=(one.bytes or 0) + (other.bytes or 0) or None,
        rows=(one.rows or 0) + (other.rows or 0) or None,
        flops=(one.flops or 0) + (other.flops or 0) or None,
    )
