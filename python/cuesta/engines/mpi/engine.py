"""The MPI engine: starts ranks, or is a rank that `mpirun` started."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuesta.engines import Capabilities, Engine, rounds
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
from cuesta.plugins import remedy
from cuesta.ranks import is_inside
from cuesta.trial import Outcome, Phase, RemoteUse, Stage, Trial, limit_tasks
from cuesta.workloads import get_workload

RANK_BYTES = 32 << 20
"""Memory of a rank without a task: Python, NumPy and MPI."""
_KERNELS = (*KERNELS, "c")


@dataclass(frozen=True)
class MpiEngine(Engine):
    """Runs `--ranks` ranks, by default one for each core, of one thread each."""

    name: str = "mpi"
    capabilities = Capabilities(
        reads_uris=True,
        has_variants=True,
        has_session=True,
        has_log=True,
        has_stages=True,
        has_limits=True,
        keeps_state=True,
    )
    _stages: list[Stage] = field(default_factory=list, repr=False)
    _remote: list[RemoteUse] = field(default_factory=list, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Workloads that are described in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """Describe what to install, or return None."""
        if find_spec("mpi4py") is None or find_spec("numpy") is None:
            return f"mpi4py is not installed; {remedy('mpi')} brings it and an MPI along"
        if is_inside() or launch.launcher():
            return None
        return f"there is no mpiexec; {remedy('mpi')} brings MPICH, or load the site's MPI"

    def missing_for(self, trial: Trial) -> str | None:
        """Describe what to install for a trial's options, or return None. Errors: `InputError`."""
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
            request["memory_bytes"] = rounds.memory_without_overhead(trial, here * RANK_BYTES, here)
            request["nodes"] = max(1, ranks // here)
            request["keeps"] = self.capabilities.keeps_state
        request |= {"workload": trial.workload, "kernels": kernels, "watcher": usage.place()}
        inside = is_inside()
        response = world.run(request) if inside else launch.run_ranks(ranks, request, scratch)
        self._stages.extend(map(_stage, response.get("stages", ())))
        remote = usage.total(response["uses"])
        self._remote.extend([remote] if remote else [])
        return _outcome(trial, response, converted)

    def log_totals(self) -> Mapping[str, float]:
        """Return measurements of the last run's rounds, summed over ranks."""
        if not self._stages:
            return {}
        tasks = [stage.each.get("task_seconds", ()) for stage in self._stages]
        exchanges = [stage.each.get("fetch_wait_seconds", ()) for stage in self._stages]
        total = sum(stage.tasks * stage.seconds for stage in self._stages)
        working = sum(map(sum, tasks))
        return {
            "rounds": len(self._stages),
            "task_seconds": working,
            "exchange_seconds": sum(map(sum, exchanges)),
            "rank_wait_seconds": max(0.0, total - working),
        }

    def stages(self) -> Sequence[Stage]:
        """Return the rounds of the last run, with one task for each rank."""
        return limit_tasks(self._stages)

    def remote_use(self, trial: Trial) -> RemoteUse | None:  # noqa: ARG002
        """Return the last run's use by ranks on other nodes, or started by another program."""
        return self._remote[0] if self._remote else None

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Measure ranks on this machine, at least two. Errors: `EngineError`."""
        request = {"workload": "limits", "kernels": "none", "repeats": repeats}
        response = launch.run_ranks(max(2, threads), request | {"scratch": str(folder)}, folder)
        return {name: samples for name, samples in response.items() if name != "uses"}

    def close(self) -> None:
        """End the loop of ranks that `mpirun` started."""
        if is_inside():
            world.close()


def _stage(row: Mapping[str, Any]) -> Stage:
    """Return a stage from a row that rank 0 has written."""
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
    """Run the C program; the phase `start` exists if it was compiled. Errors: as `run`."""
    if is_inside():
        raise InputError("--kernels c starts its own ranks; run it without mpirun, with --ranks N")
    checked = plan(trial.parameters, trial.seed, trial.inputs)
    c_program.check(checked)
    started = time.perf_counter()
    program, is_new = c_program.compiled(c_program.FLAGS)
    start = Phase(name="start", seconds=time.perf_counter() - started)
    response = c_program.run(checked, ranks, output, program)
    return _outcome(trial, response, (start,) if is_new else ())


def _ranks(trial: Trial) -> int:
    option = trial.engine_options.get("ranks")
    try:
        ranks = trial.threads if option is None else int(option)
    except ValueError:
        ranks = 0
    if ranks < 1:
        raise InputError(f"--ranks is {option}, give at least 1")
    return ranks


def _check_memory(trial: Trial, ranks: int, here: int, kernels: str) -> None:
    """Check the memory limit before ranks start, of which `here` are on a node."""
    checked = plan(trial.parameters, trial.seed, trial.inputs)
    overhead_bytes = 0
    if kernels == "numpy":
        overhead_bytes = here * (RANK_BYTES + PIECE_BYTES) + checked.blocks * SUMS_BYTES
        purpose = f"{here} ranks and the sums of {checked.blocks} blocks"
        rounds.check_memory(trial, overhead_bytes, purpose)
    if not checked.stores or checked.keep == "disk":
        return
    blocks = checked.blocks if checked.keep == "memory" else min(ranks, checked.blocks)
    blocks = -(-blocks * here // ranks)
    needed = blocks * checked.vectors_of(0) * VECTOR_BYTES
    available = trial.memory_bytes - overhead_bytes
    if needed > available:
        raise InputError(
            f"memory: {blocks} blocks need {needed >> 20} MiB, the limit leaves "
            f"{available >> 20} MiB for them; raise --memory or give --keep disk"
        )
