"""The MPI engine: starts ranks, or is one of the ranks that somebody started."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuesta.engines import rounds
from cuesta.engines.dataflow import (
    KERNELS,
    PIECE_BYTES,
    SUMS_BYTES,
    VECTOR_BYTES,
    kernels_of,
    plan,
)
from cuesta.engines.mpi import c_program, launch, usage, world
from cuesta.errors import InputError
from cuesta.native import native_module, request_fields
from cuesta.ranks import is_inside
from cuesta.trial import Outcome, Phase, RemoteUse, Stage, Trial, limit_tasks
from cuesta.workloads import get_workload

RANK_BYTES = 32 << 20
"""A rank without a task: Python, NumPy and MPI."""
_KERNELS = (*KERNELS, "c")


@dataclass(frozen=True)
class MpiEngine:
    """One rank a core, each with one thread; `--ranks` says how many."""

    name: str = "mpi"
    reads_uris: bool = True
    _stages: list[Stage] = field(default_factory=list, repr=False)
    _remote: list[RemoteUse] = field(default_factory=list, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Those in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """What to install, or None."""
        if find_spec("mpi4py") is None or find_spec("numpy") is None:
            return "mpi4py is not installed; pip install 'cuesta[mpi]' brings it and an MPI along"
        if is_inside() or launch.launcher():
            return None
        return "there is no mpiexec; pip install 'cuesta[mpi]' brings MPICH, or load the site's MPI"

    def missing_for(self, trial: Trial) -> str | None:
        """What to install for the options of a trial, or None. Errors: `InputError`."""
        return c_program.missing() if kernels_of(trial, _KERNELS) == "c" else None

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial`. Errors: `InputError`, `EngineError` when a rank dies."""
        native_module()
        self._stages.clear()
        self._remote.clear()
        ranks = world.size() if is_inside() else _ranks(trial)
        here = world.on_this_node() if is_inside() else -(-ranks // launch.nodes())
        kernels = kernels_of(trial, _KERNELS)
        if kernels != "native":
            _check_memory(trial, ranks, here, kernels)
        if kernels == "c":
            if not launch.is_this_machine():
                self._remote.append(RemoteUse(processes=ranks))
            return _run_in_c(trial, ranks, output)
        trial, converted = get_workload(trial.workload).readable(trial, scratch)
        request = request_fields(trial, output, scratch)
        if kernels == "native":
            request["memory_bytes"] = rounds.memory_left(trial, here * RANK_BYTES, here)
            request["nodes"] = max(1, ranks // here)
        request |= {"workload": trial.workload, "kernels": kernels, "watcher": usage.place()}
        inside = is_inside()
        response = world.run(request) if inside else launch.run_ranks(ranks, request, scratch)
        self._stages.extend(map(_stage, response.get("stages", ())))
        remote = usage.total(response["uses"])
        self._remote.extend([remote] if remote else [])
        return _outcome(trial, response, converted)

    def told(self) -> Mapping[str, float]:
        """What the ranks of the last run measured in its rounds, summed over ranks."""
        if not self._stages:
            return {}
        tasks = [one.each.get("task_seconds", ()) for one in self._stages]
        exchanges = [one.each.get("fetch_wait_seconds", ()) for one in self._stages]
        whole = sum(one.tasks * one.seconds for one in self._stages)
        working = sum(map(sum, tasks))
        return {
            "rounds": len(self._stages),
            "task_seconds": working,
            "exchange_seconds": sum(map(sum, exchanges)),
            "rank_wait_seconds": max(0.0, whole - working),
        }

    def stages(self) -> Sequence[Stage]:
        """The rounds of the last run, whose tasks are what each rank did."""
        return limit_tasks(self._stages)

    def remote_use(self, trial: Trial) -> RemoteUse | None:  # noqa: ARG002
        """Use of ranks on other nodes, or started by another program, in the last run."""
        return self._remote[0] if self._remote else None

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Of ranks on this machine, at least two. Errors: `EngineError`."""
        request = {"workload": "limits", "kernels": "none", "repeats": repeats}
        response = launch.run_ranks(max(2, threads), request | {"scratch": str(folder)}, folder)
        return {name: samples for name, samples in response.items() if name != "uses"}

    def close(self) -> None:
        """Let the ranks that somebody started go home."""
        if is_inside():
            world.close()


def _stage(row: Mapping[str, Any]) -> Stage:
    """As rank 0 has written it."""
    each = {name: tuple(values) for name, values in row["each"].items()}
    return Stage(**{**row, "each": each})


def _outcome(trial: Trial, response: dict[str, Any], before: tuple[Phase, ...]) -> Outcome:
    workload = get_workload(trial.workload)
    return Outcome(
        phases=rounds.joined((*before, *map(workload.phase, response["phases"]))),
        counts=response["counts"],
        versions=response.get("versions", {}),
    )


def _run_in_c(trial: Trial, ranks: int, output: Path) -> Outcome:
    """Run the C program; the phase `start` is there where it was compiled. Errors: as `run`."""
    if is_inside():
        raise InputError("--kernels c starts its own ranks; run it without mpirun, with --ranks N")
    asked = plan(trial.parameters, trial.seed, trial.inputs)
    c_program.check(asked)
    started = time.perf_counter()
    program, is_new = c_program.compiled(c_program.FLAGS)
    start = Phase(name="start", seconds=time.perf_counter() - started)
    response = c_program.run(asked, ranks, output, program)
    return _outcome(trial, response, (start,) if is_new else ())


def _ranks(trial: Trial) -> int:
    given = trial.engine_options.get("ranks")
    try:
        ranks = trial.threads if given is None else int(given)
    except ValueError:
        ranks = 0
    if ranks < 1:
        raise InputError(f"--ranks is {given}, give at least 1")
    return ranks


def _check_memory(trial: Trial, ranks: int, here: int, kernels: str) -> None:
    """What can be refused before ranks start, of which so many are `here`, on a node."""
    asked = plan(trial.parameters, trial.seed, trial.inputs)
    beside = 0
    if kernels == "numpy":
        beside = here * (RANK_BYTES + PIECE_BYTES) + asked.blocks * SUMS_BYTES
        rounds.check_memory(trial, beside, f"{here} ranks and the sums of {asked.blocks} blocks")
    if not asked.stores or asked.keep == "disk":
        return
    blocks = asked.blocks if asked.keep == "memory" else min(ranks, asked.blocks)
    blocks = -(-blocks * here // ranks)
    needed, left = blocks * asked.vectors_of(0) * VECTOR_BYTES, trial.memory_bytes - beside
    if needed > left:
        raise InputError(
            f"memory: {blocks} blocks need {needed >> 20} MiB, the limit leaves {left >> 20} MiB "
            "for them; raise --memory or give --keep disk"
        )
