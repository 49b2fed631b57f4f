"""The engine `dask`: rounds as tasks of Dask's distributed scheduler, here or on a cluster.

Blocks for parts go through files of the scratch folder, which all workers share: a worker that dies
takes none of them with it, and no block is in the memory of two. Scheduler and workers that are
started here listen on this machine alone, and to each other alone.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

from cuesta import removal
from cuesta.engines import (
    Engine,
    Progress,
    dask_security,
    dask_workers,
    rounds,
    shared_memory,
)
from cuesta.engines.rounds import Job, Means, Round, combined
from cuesta.errors import CuestaError, EngineError, InputError
from cuesta.trial import Outcome, Phase, RemoteUse, Trial
from cuesta.units import format_bytes

PYTHON_BYTES = 128 << 20
"""A process of Dask without a task."""
LEAST_BYTES = 256 << 20
"""Memory that a worker needs for Python, Dask and small tasks."""
COMBINED_AT_ONCE = 16
"""Results that a task makes one of."""
CONNECTS_SECONDS = 10
"""How long a scheduler may take to answer."""
RETRIES = 3
"""How often a task is done again whose worker has died."""
_OPTIONS = ("scheduler", "tasks")


@dataclass
class _Held:
    """The client that copies of an engine share, what it was made for, and its folder.

    `cluster` is that of workers which were started here.
    """

    client: Any = None
    cluster: Any = None
    made_for: tuple[object, ...] = ()
    folder: Path | None = None


@dataclass(frozen=True)
class DaskEngine:
    """One process for each thread of a trial, or the workers of `--engine-option scheduler=`."""

    progress: Progress | None = None
    name: str = "dask"
    reads_uris: bool = True
    _held: _Held = field(default_factory=_Held, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Those in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """What to install, or None."""
        if find_spec("distributed") is None or find_spec("cryptography") is None:
            return "engine dask is not installed; pip install 'cuesta[dask]'"
        return None

    def with_progress(self, progress: Progress) -> Engine:
        """The same engine on the same workers, calling `progress` with bytes done and in all."""
        return replace(self, progress=progress)

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Unknown use of the workers on nodes of a cluster."""
        return RemoteUse() if "scheduler" in trial.engine_options else None

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial`. Errors: `InputError`; `EngineError` when workers die."""
        tasks = _tasks(trial)
        try:
            return self._run(trial, tasks, (output, scratch))
        except (CuestaError, OSError):
            raise
        except BaseException as error:
            self.close()
            # On a loaded machine Dask may cancel what it waits for, which is no `Exception`.
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                raise
            first_line = (str(error).splitlines() or [""])[0]
            told = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
            raise EngineError(f"engine dask: Dask failed: {told}") from error

    def _run(self, trial: Trial, tasks: int | None, places: tuple[Path, Path]) -> Outcome:
        started, before = time.perf_counter(), self._held.client
        client = self._client(trial, places[1])
        seconds = time.perf_counter() - started
        start = () if client is before else (Phase(name="start", seconds=seconds),)
        slots = sum(client.nthreads().values())
        if not slots:
            raise EngineError("engine dask: the scheduler has no worker; start some")
        # Each worker, and this process with the scheduler.
        beside = 0 if trial.engine_options.get("scheduler") else (slots + 1) * PYTHON_BYTES
        memory_bytes = rounds.memory_left(trial, beside, slots)
        means = Means(slots=slots, memory_bytes=memory_bytes, tasks=tasks)
        found = partial(_found, client, places[1], self.progress)
        outcome = rounds.run(trial, places, means, found)
        versions = {"dask": version("dask")}
        return replace(outcome, phases=(*start, *outcome.phases), versions=versions)

    def close(self) -> None:
        """End the workers that were started here, and leave those that were not."""
        client, self._held.client = self._held.client, None
        cluster, self._held.cluster = self._held.cluster, None
        if client is not None:
            client.close()
        if cluster is not None:
            cluster.close()
        if self._held.folder is not None:
            removal.discard(self._held.folder)
            self._held.folder = None

    def _client(self, trial: Trial, scratch: Path) -> Any:
        dask: Any = import_module("distributed")
        scheduler = trial.engine_options.get("scheduler")
        made_for = (scheduler, trial.threads, trial.memory_bytes)
        if self._held.client is not None and self._held.made_for == made_for:
            return self._held.client
        self.close()
        each = trial.memory_bytes // (trial.threads + 1)
        if scheduler is None and each < LEAST_BYTES:
            least = format_bytes(LEAST_BYTES * (trial.threads + 1))
            raise InputError(
                f"engine dask: {trial.threads} workers need {least}; raise --memory, or give fewer "
                "--threads"
            )
        try:
            if scheduler is None:
                self._held.cluster = self._local_cluster(trial.threads, each, scratch)
            where = scheduler or self._held.cluster
            self._held.client = dask.Client(where, timeout=CONNECTS_SECONDS)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            # The last two are of certificates that Dask's configuration lacks, or wants.
            if scheduler:
                refusal = f"no scheduler at {scheduler}: {error}"
            else:
                place = shared_memory.remark("its workers")
                refusal = f"no workers start on this machine: {error}{place}"
        else:
            self._held.made_for = made_for
            return self._held.client
        # The client that failed closes itself when it is collected. Where that happens while the
        # next client starts, both want one lock of Dask's, in one thread.
        gc.collect()
        raise EngineError(f"engine dask: {refusal}")

    def _local_cluster(self, workers: int, memory_bytes: int, scratch: Path) -> Any:
        """Processes of this machine that nobody else can talk to.

        Arguments: `memory_bytes` is for each. Their folder is beside `scratch`, which is emptied
        between runs.
        """
        self._held.folder = Path(mkdtemp(dir=scratch.parent, prefix="cuesta-dask-"))
        config: Any = import_module("dask.config")
        cluster = partial(
            import_module("distributed").LocalCluster,
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory_bytes,
            dashboard_address=None,
            silence_logs=50,
            host="127.0.0.1",
            # That of a server without pages, on a port that nobody else has.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            security=dask_security.temporary(),
            local_directory=str(self._held.folder),
        )
        with config.set(dask_security.NO_PAGES):
            return dask_workers.started(cluster, lambda made: made.close())


def _tasks(trial: Trial) -> int | None:
    given = trial.engine_options
    for name in given:
        if name not in _OPTIONS:
            raise InputError(f"engine dask has no option {name}, choose from {', '.join(_OPTIONS)}")
    return rounds.tasks_asked(trial)


def _found(
    client: Any, scratch: Path, progress: Progress | None, job: Job, round_: Round
) -> list[bytes]:
    """What the tasks found, or with parts what they did, in the order of their numbers."""
    # A task's result, and not scattered: it is made again when the worker that has it dies.
    told = client.submit(_itself, round_, pure=False, retries=RETRIES)
    completed: Any = import_module("distributed").as_completed

    def done(function: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        call = partial(function, job)
        futures = client.map(call, items, round_=told, pure=False, retries=RETRIES)
        if progress and round_.size_bytes:
            for count, _ in enumerate(completed(futures), 1):
                progress(round_.size_bytes * count // len(futures), round_.size_bytes)
        return list(client.gather(futures))

    numbers = range(len(round_.tasks))
    if round_.parts:
        with removal.temporary_folder(folder=scratch, prefix="blocks-") as folder:
            sent = done(partial(_send, folder), numbers)
            places = [[ends[part : part + 2] for ends in sent] for part in range(round_.parts)]
            found = done(partial(_receive, folder), list(enumerate(places)))
    else:
        found = done(_do, numbers)
    while round_.combines and len(found) > 1:
        starts = range(0, len(found), COMBINED_AT_ONCE)
        found = done(_combine, [found[start : start + COMBINED_AT_ONCE] for start in starts])
    return found


def _itself(round_: Round) -> Round:
    return round_


def _do(job: Job, number: int, round_: Round) -> bytes:
    found: bytes = job.worker().task(number, round_.shared, round_.tasks[number])[0]
    return found


def _send(folder: str, job: Job, number: int, round_: Round) -> list[int]:
    """Write the blocks of a task to a file; where that of each part begins, and the last ends."""
    _, blocks, ends = job.worker().task(number, round_.shared, round_.tasks[number])
    path = Path(folder, f"{number}")
    attempt = path.with_suffix(f".{uuid4().hex}")
    try:
        attempt.write_bytes(blocks)
        removal.put(attempt, path)
    except OSError as error:
        attempt.unlink(missing_ok=True)
        raise _scratch_error(error, folder) from None
    last = ends[-1] if ends else 0
    return [0, *ends, *[last] * (round_.parts - len(ends))]


def _scratch_error(error: OSError, folder: str) -> InputError:
    """Return the line of a folder for scratch that takes no more."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        cause = "the disk is full; free some space or choose another folder with --scratch"
    else:
        cause = f"{(error.strerror or str(error)).lower()}; choose another folder with --scratch"
    return InputError(f"scratch {folder}: {cause}")


def _receive(folder: str, job: Job, item: tuple[int, list[list[int]]], round_: Round) -> bytes:
    part, places = item
    worker = job.worker()
    for number, (start, end) in enumerate(places):
        if start < end:
            with Path(folder, f"{number}").open("rb") as file:
                file.seek(start)
                worker.take((part, number), round_.shared, file.read(end - start))
    found: bytes = worker.part(part, round_.shared)
    return found


def _combine(job: Job, some: list[bytes], round_: Round) -> bytes:
    return combined(job.worker(), round_, some)[0]
