"""A user's operations on a cluster: submit it, wait for it, query it, end it."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cuesta.cluster import hadoop_classes, node_store, watchdog
from cuesta.cluster.folder import CANCELLED, OVER, ClusterFolder, error_line
from cuesta.cluster.limits import CONNECT_SECONDS, FOLLOW_SECONDS, STOP_SECONDS
from cuesta.cluster.schedulers import GONE, JobReport, Scheduler, get_scheduler, process
from cuesta.cluster.settings import ClusterPlan, check, from_json, to_json
from cuesta.cluster.spark import preset
from cuesta.cluster.wire import WireError, connect
from cuesta.errors import CuestaError, EngineError, EngineMissing, InputError
from cuesta.private import write_private

_LOOK_SECONDS = 0.05
_GONE_SECONDS = 10.0
"""Age at which the state file of a job that has ended is taken to be final: folders that nodes
share show changes late, and a watchdog may write it last."""
_START_PHASES = 6
"""Steps that a leader waits for in turn, each `start` seconds at most: agents, stores, Spark's
master, its workers, YARN's ResourceManager, its NodeManagers."""
_INTERRUPTED = 130


def new_name() -> str:
    """Return a unique name for a cluster."""
    return secrets.token_hex(4)


def completed(plan: ClusterPlan) -> ClusterPlan:
    """Check a plan and add the values that its scheduler determines. Errors: `InputError`."""
    check(plan)
    preset(plan.preset, 1)
    return get_scheduler(plan.allocation.scheduler).complete(plan)


def submit(plan: ClusterPlan, folder: ClusterFolder) -> str:
    """Make the folder and submit the job; return its name. Errors: `InputError`, `EngineMissing`.

    Arguments: `plan` was returned by `completed`. Guarantee: where it is refused or interrupted no
    job is left, and the state is `failed`.
    """
    scheduler = get_scheduler(plan.allocation.scheduler)
    lacking = scheduler.missing()
    if lacking:
        raise EngineMissing(lacking)
    if "yarn" in plan.services:
        plan = replace(plan, hadoop_classes=hadoop_classes.find())
    script = scheduler.script(plan, folder)
    if folder.state_file.exists():
        status(folder)
    folder.make()
    if plan.store_bytes:
        node_store.make_secret(folder.store_secret_file)
    write_private(folder.plan_file, json.dumps(to_json(plan), indent=1) + "\n")
    folder.script.write_text(script)
    folder.script.chmod(0o700)
    state = {
        "schema": "cuesta.cluster/1",
        "cluster": plan.cluster,
        "scheduler": scheduler.name,
        "state": "submitted",
        "times": {"submitted": time.time()},
    }
    folder.write(state)
    job = ""
    try:
        job = scheduler.submit(folder)
        # The leader may write by now, so the name of its job goes into a separate file.
        write_private(folder.job_file, job)
    except BaseException as error:
        _withdraw(folder, scheduler, job, error)
        raise
    return job


def _withdraw(folder: ClusterFolder, scheduler: Scheduler, job: str, error: BaseException) -> None:
    """End a job whose submission failed. A leader that starts later reads the state `failed`."""
    if job:
        with contextlib.suppress(CuestaError, OSError):
            scheduler.cancel(job)
    why = str(error) or f"handing the job in was interrupted ({type(error).__name__})"
    code = getattr(error, "exit_code", EngineError.exit_code)
    if isinstance(error, KeyboardInterrupt):
        code = _INTERRUPTED
    with contextlib.suppress(CuestaError, OSError):
        _fail(folder, folder.read(), why, code)


def _fail(folder: ClusterFolder, state: dict[str, Any], why: str, code: int) -> dict[str, Any]:
    """Write that a cluster without a leader has failed; return its new state."""
    return _close(folder, state, {"state": "failed", "why": why, "code": code})


def _close(folder: ClusterFolder, state: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """Write the outcome of a cluster without a leader, unless an outcome is written already."""
    if state["state"] in OVER:
        return state
    closed = state | outcome
    folder.write(closed)
    return closed


class Observer:
    """Polls a cluster: its file at each call, its scheduler every `FOLLOW_SECONDS`."""

    def __init__(self, folder: ClusterFolder) -> None:
        self._folder = folder
        self._queried_at = float("-inf")

    def state(self) -> dict[str, Any]:
        """Return the state, as `status` does."""
        if time.monotonic() - self._queried_at < FOLLOW_SECONDS:
            return self._folder.read()
        state_now = status(self._folder)
        # Taken after the reply, so that a slow scheduler is not queried more often.
        self._queried_at = time.monotonic()
        return state_now


def wait(
    folder: ClusterFolder, until: Callable[[dict[str, Any]], bool], seconds: float | None
) -> dict[str, Any]:
    """Return the state once `until` holds or it is final. Errors: `EngineError`: time-out."""
    deadline = None if seconds is None else time.monotonic() + seconds
    observer = Observer(folder)
    while True:
        state = observer.state()
        if until(state) or state["state"] in OVER:
            return state
        if deadline is not None and time.monotonic() > deadline:
            raise EngineError(
                f"{folder.root}: the cluster is still {state['state']} after {seconds:.0f} s; see "
                f"{folder.logs}"
            )
        time.sleep(_LOOK_SECONDS)


def wait_until_ready(folder: ClusterFolder, queued_seconds: float | None) -> dict[str, Any]:
    """Return the state when services are ready. Errors: `EngineError` with the failure's message.

    Arguments: `queued_seconds` limits the time in the scheduler's queue; None is no limit.
    """
    wait(folder, lambda state: state["state"] != "submitted", queued_seconds)
    plan = from_json(folder.plan())
    # A cluster that fails to start ends all its processes before it reports that.
    seconds = _START_PHASES * plan.setting("start") + _end_seconds(plan)
    state = wait(folder, lambda state: "ready" in state["times"], seconds)
    if state["state"] in OVER:
        kind = InputError if state.get("code") == InputError.exit_code else EngineError
        raise kind(state.get("why") or "the cluster has ended")
    return state


def status(folder: ClusterFolder) -> dict[str, Any]:
    """Return the current state, after correcting that of a leader which has been killed."""
    state = folder.read()
    job = folder.job()
    if state["state"] in OVER or not job:
        return state
    is_submitted, is_quiet = state["state"] == "submitted", _is_quiet(folder, state, job)
    if not (is_submitted or is_quiet):
        return state
    scheduler = get_scheduler(state["scheduler"])
    if scheduler.state(job) != GONE:
        return state
    report = scheduler.report(job)
    if is_submitted and report.is_withdrawn:
        why = f"job {job} was cancelled before it began"
        outcome = {"state": CANCELLED, "why": why, "code": EngineError.exit_code}
        return _close(folder, folder.read(), outcome)
    if not is_quiet:
        return state
    return _fail(folder, folder.read(), _silent(folder, report), EngineError.exit_code)


def _silent(folder: ClusterFolder, report: JobReport) -> str:
    """Describe the end of a leader that did not write its final state."""
    log = folder.log("leader")
    line = error_line(log)[:300]
    state = f", its job is {report.state}" if report.state else ""
    return f"the leader has ended without a word{state}{f': {line}' if line else ''}; see {log}"


def exit_code(state: Mapping[str, Any]) -> int:
    """Return 0 for a cluster that waits, runs or succeeded, else its exit code."""
    return int(state.get("code", EngineError.exit_code)) if state["state"] in OVER else 0


def waiting_reason(folder: ClusterFolder, state: Mapping[str, Any]) -> str:
    """Return the scheduler's reason for which the job of a cluster waits."""
    job = folder.job()
    if state["state"] != "submitted" or not job:
        return ""
    return get_scheduler(state["scheduler"]).report(job).reason


def _is_quiet(folder: ClusterFolder, state: dict[str, Any], job: str) -> bool:
    """Whether no process that would still write the state is visible from this machine."""
    if not process.is_process(job):
        return time.time() - folder.state_file.stat().st_mtime > _GONE_SECONDS
    # Its watchdog has the cluster's mark, and may be at work for as long as a store writes.
    return process.is_here(job) and not watchdog.marked(f"{state['cluster']}/")


def down(folder: ClusterFolder) -> dict[str, Any]:
    """End a cluster, and wait until none of its processes is left. A second call does no harm.

    Errors: `InputError` where only another machine can end it; `EngineError` where it does not end.
    """
    state = status(folder)
    if state["state"] == "submitted" and not folder.job():
        why = "it was ended before its job was handed in"
        state = _fail(folder, state, why, EngineError.exit_code)
    if state["state"] not in OVER:
        _ask_to_stop(folder, state)
        state = _ended(folder)
    if state["scheduler"] == "local":
        watchdog.sweep(watchdog.mark(state["cluster"], ""))
    return state


def _ask_to_stop(folder: ClusterFolder, state: dict[str, Any]) -> None:
    """Ask the leader to stop, or have the scheduler cancel the job if it does not answer."""
    leader = state.get("leader")
    try:
        if leader is None:
            raise WireError("it does not listen yet")
        peer = connect(leader["address"], leader["port"], folder.secret(), 0)
        peer.send({"stop": True})
    except WireError:
        _cancel(folder, state["scheduler"])


def _cancel(folder: ClusterFolder, scheduler: str) -> None:
    job = folder.job()
    if job:
        get_scheduler(scheduler).cancel(job)


def _ended(folder: ClusterFolder) -> dict[str, Any]:
    plan = from_json(folder.plan())
    seconds = _end_seconds(plan)
    try:
        return wait(folder, lambda state: state["state"] in OVER, seconds)
    except EngineError:
        _cancel(folder, plan.allocation.scheduler)
        return wait(folder, lambda state: state["state"] in OVER, seconds)


def _end_seconds(plan: ClusterPlan) -> float:
    """Return the time limit of a leader's end: command, agents, Spark's master, the rest."""
    return CONNECT_SECONDS + 3 * plan.setting("stop") + plan.end_seconds + STOP_SECONDS


def planned(plan: ClusterPlan) -> ClusterPlan:
    """Return a plan with a name, checked and completed."""
    return completed(replace(plan, cluster=plan.cluster or new_name()))
