"""The engine `dask`: rounds as tasks of Dask's distributed scheduler, here or on a cluster.

Blocks for parts go through files of the scratch folder, which all workers share: they survive the
death of a worker, and no block is in the memory of two workers. Scheduler and workers that are
started here listen on this machine alone, and accept connections from each other alone.
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
    Capabilities,
    Engine,
    Progress,
    dask_security,
    dask_workers,
    rounds,
    shared_memory,
)
from cuesta.engines.rounds import Job, Means, Round, combined
from cuesta.errors import CuestaError, EngineError, InputError
from cuesta.plugins import remedy
from cuesta.trial import Outcome, Phase, RemoteUse, Trial
from cuesta.units import format_bytes

PYTHON_BYTES = 128 << 20
"""Memory of a process of Dask without a task."""
LEAST_BYTES = 256 << 20
"""Memory that a worker needs for Python, Dask and small tasks."""
COMBINED_AT_ONCE = 16
"""Results that a task combines into one."""
CONNECTS_SECONDS = 10
"""Time for a scheduler to answer."""
RETRIES = 3
"""Number of times a task is repeated whose worker has died."""
_OPTIONS = ("scheduler", "tasks")


@dataclass
class _Held:
    """The client that copies of an engine share, with the settings it was made for, and its folder.

    `cluster` is that of workers which were started here, if any.
    """

    client: Any = None
    cluster: Any = None
    made_for: tuple[object, ...] = ()
    folder: Path | None = None


@dataclass(frozen=True)
class DaskEngine(Engine):
    """Runs a process for each thread of a trial, or uses `--engine-option scheduler=`."""

    progress: Progress | None = None
    name: str = "dask"
    capabilities = Capabilities(reads_uris=True, has_session=True)
    _held: _Held = field(default_factory=_Held, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Workloads that are described in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """Describe what to install, or return None."""
        if find_spec("distributed") is None or find_spec("cryptography") is None:
            return f"engine dask is not installed; {remedy('dask')}"
        return None

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy on the same workers that calls `progress` with bytes done and in total."""
        return replace(self, progress=progress)

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Return an unknown use where workers are on nodes of a cluster, else None."""
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
            # On a loaded machine Dask may raise `CancelledError`, which is no `Exception`.
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                raise
            first_line = (str(error).splitlines() or [""])[0]
            kind = type(error).__name__
            description = f"{kind}: {first_line}" if first_line else kind
            raise EngineError(
                f"engine dask: Dask failed: {description}; run it again, or see `cuesta doctor`"
            ) from error

    def _run(self, trial: Trial, tasks: int | None, places: tuple[Path, Path]) -> Outcome:
        started, client_before = time.perf_counter(), self._held.client
        client = self._client(trial, places[1])
        seconds = time.perf_counter() - started
        start = () if client is client_before else (Phase(name="start", seconds=seconds),)
        slots = sum(client.nthreads().values())
        if not slots:
            raise EngineError("engine dask: the scheduler has no worker; start one, `dask worker`")
        # Each worker, and this process with the scheduler.
        overhead_bytes = 0 if trial.engine_options.get("scheduler") else (slots + 1) * PYTHON_BYTES
        memory_bytes = rounds.memory_without_overhead(trial, overhead_bytes, slots)
        means = Means(slots=slots, memory_bytes=memory_bytes, tasks=tasks)
        execute = partial(_execute, client, places[1], self.progress)
        outcome = rounds.run(trial, places, means, execute)
        versions = {"dask": version("dask")}
        return replace(outcome, phases=(*start, *outcome.phases), versions=versions)

    def close(self) -> None:
        """End the workers that were started here; other workers continue."""
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
            # The last two are for certificates that Dask's configuration lacks, or requires.
            if scheduler:
                refusal = f"no scheduler at {scheduler}: {error}; start `dask scheduler` there"
            else:
                place = shared_memory.remark("its workers")
                refusal = f"no workers start on this machine: {error}{place}"
        else:
            self._held.made_for = made_for
            return self._held.client
        # The failed client closes itself when it is garbage-collected. If that happens while the
        # next client starts, both acquire the same lock of Dask's, in one thread.
        gc.collect()
        raise EngineError(f"engine dask: {refusal}")

    def _local_cluster(self, workers: int, memory_bytes: int, scratch: Path) -> Any:
        """Start workers on this machine that accept no connections from other users.

        Arguments: `memory_bytes` is for each worker. Their folder is next to `scratch`, which is
        emptied between runs.
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
            # Address of a server without pages, on a free port.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            security=dask_security.temporary(),
            local_directory=str(self._held.folder),
        )
        with config.set(dask_security.NO_PAGES | dask_workers.RESTARTED_SAFELY):
            return dask_workers.started(cluster, lambda made: made.close())


def _tasks(trial: Trial) -> int | None:
    options = trial.engine_options
    for name in options:
        if name not in _OPTIONS:
            raise InputError(f"engine dask has no option {name}, choose from {', '.join(_OPTIONS)}")
    return rounds.requested_tasks(trial)


def _execute(
    client: Any, scratch: Path, progress: Progress | None, job: Job, round_: Round
) -> list[bytes]:
    """Return the results of the tasks, or of the parts if any, in the order of their numbers."""
    # The result of a task, not scattered data: Dask recomputes it when the worker with it dies.
    round_future = client.submit(_itself, round_, pure=False, retries=RETRIES)
    completed: Any = import_module("distributed").as_completed

    def run_all(function: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        call = partial(function, job)
        futures = client.map(call, items, round_=round_future, pure=False, retries=RETRIES)
        if progress and round_.size_bytes:
            for count, _ in enumerate(completed(futures), 1):
                progress(round_.size_bytes * count // len(futures), round_.size_bytes)
        return list(client.gather(futures))

    numbers = range(len(round_.tasks))
    if round_.parts:
        with removal.temporary_folder(folder=scratch, prefix="blocks-") as folder:
            sent = run_all(partial(_send, folder), numbers)
            places = [[ends[part : part + 2] for ends in sent] for part in range(round_.parts)]
            results = run_all(partial(_receive, folder), list(enumerate(places)))
    else:
        results = run_all(_do, numbers)
    while round_.combines and len(results) > 1:
        starts = range(0, len(results), COMBINED_AT_ONCE)
        results = run_all(_combine, [results[start : start + COMBINED_AT_ONCE] for start in starts])
    return results


def _itself(round_: Round) -> Round:
    return round_


def _do(job: Job, number: int, round_: Round) -> bytes:
    result: bytes = job.worker().task(number, round_.shared, round_.tasks[number])[0]
    return result


def _send(folder: str, job: Job, number: int, round_: Round) -> list[int]:
    """Write the blocks of a task to a file; return the start of each part's block, and the end."""
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
    """Return the error of a failed write to the scratch folder."""
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
    result: bytes = worker.part(part, round_.shared)
    return result


def _combine(job: Job, some: list[bytes], round_: Round) -> bytes:
    return combined(job.worker(), round_, some)[0]
