"""What a user's process does with a cluster: hand it in, wait for it, look at it, end it."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cuesta.cluster import hadoop_classes, watchdog
from cuesta.cluster.folder import CANCELLED, OVER, ClusterFolder, telling_line
from cuesta.cluster.limits import CONNECT_SECONDS, FOLLOW_SECONDS, STOP_SECONDS
from cuesta.cluster.schedulers import GONE, JobReport, Scheduler, get_scheduler, process
from cuesta.cluster.settings import ClusterPlan, check, from_json, to_json
from cuesta.cluster.spark import preset
from cuesta.cluster.wire import WireError, connect
from cuesta.errors import CuestaError, EngineError, EngineMissing, InputError
from cuesta.private import write_private

_LOOK_SECONDS = 0.05
_GONE_SECONDS = 10.0
"""How long a state may be old before one that a job which is gone has left is taken for wrong:
folders that nodes share show changes late, and a watchdog has the last word."""
_START_PHASES = 6
"""What a leader waits for in turn, each for `start` seconds at most: agents, stores, Spark's
master, its workers, YARN's ResourceManager, its NodeManagers."""
_INTERRUPTED = 130


def new_name() -> str:
    """A name for a cluster that no other has."""
    return secrets.token_hex(4)


def completed(plan: ClusterPlan) -> ClusterPlan:
    """A plan that was checked, with what its scheduler adds. Errors: `InputError`."""
    check(plan)
    preset(plan.preset, 1)
    return get_scheduler(plan.allocation.scheduler).complete(plan)


def submit(plan: ClusterPlan, folder: ClusterFolder) -> str:
    """Make the folder and hand the job in; return its name. Errors: `InputError`, `EngineMissing`.

    Arguments: `plan` is one that is `completed`. Guarantee: where it is refused or interrupted no
    job is left, and the state says `failed`.
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
        # The leader may write by now, so the name of its job goes into a file of its own.
        write_private(folder.job_file, job)
    except BaseException as error:
        _withdraw(folder, scheduler, job, error)
        raise
    return job


def _withdraw(folder: ClusterFolder, scheduler: Scheduler, job: str, error: BaseException) -> None:
    """End a job that was not handed in whole. A leader that comes later finds the state failed."""
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
    """Write that a cluster has failed which has no leader that could; the state from then on."""
    return _close(folder, state, {"state": "failed", "why": why, "code": code})


def _close(folder: ClusterFolder, state: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """Write the outcome of a cluster that has no leader, unless it has one already."""
    if state["state"] in OVER:
        return state
    closed = state | outcome
    folder.write(closed)
    return closed


class Observer:
    """Looks at a cluster often: its file at each call, its scheduler every `FOLLOW_SECONDS`."""

    def __init__(self, folder: ClusterFolder) -> None:
        self._folder = folder
        self._asked = float("-inf")

    def state(self) -> dict[str, Any]:
        """As `status`."""
        if time.monotonic() - self._asked < FOLLOW_SECONDS:
            return self._folder.read()
        found = status(self._folder)
        # A scheduler that takes its time is left in peace afterwards, too.
        self._asked = time.monotonic()
        return found


def wait(
    folder: ClusterFolder, until: Callable[[dict[str, Any]], bool], seconds: float | None
) -> dict[str, Any]:
    """The state once `until` holds for it, or all is over. Errors: `EngineError` after so long."""
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
    """The state when services are there. Errors: `EngineError` in the words of what failed.

    Arguments: `queued_seconds` is how long the scheduler may take; None is as long as it likes.
    """
    wait(folder, lambda state: state["state"] != "submitted", queued_seconds)
    plan = from_json(folder.plan())
    # One that does not come up ends all that it has started before it says so.
    seconds = _START_PHASES * plan.own("start") + _end_seconds(plan)
    found = wait(folder, lambda state: "ready" in state["times"], seconds)
    if found["state"] in OVER:
        kind = InputError if found.get("code") == InputError.exit_code else EngineError
        raise kind(found.get("why") or "the cluster has ended")
    return found


def status(folder: ClusterFolder) -> dict[str, Any]:
    """The state as it is: one that was left behind by a leader that is gone is put right."""
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
    """Describe the end of a leader that has not written its state itself."""
    log = folder.log("leader")
    line = telling_line(log)[:300]
    state = f", its job is {report.state}" if report.state else ""
    return f"the leader has ended without a word{state}{f': {line}' if line else ''}; see {log}"


def exit_code(state: Mapping[str, Any]) -> int:
    """Return 0 for a cluster that waits, runs or has ended well, else the code of its end."""
    return int(state.get("code", EngineError.exit_code)) if state["state"] in OVER else 0


def waiting_reason(folder: ClusterFolder, state: Mapping[str, Any]) -> str:
    """Return the cause for which the job of a cluster waits, in the words of its scheduler."""
    job = folder.job()
    if state["state"] != "submitted" or not job:
        return ""
    return get_scheduler(state["scheduler"]).report(job).reason


def _is_quiet(folder: ClusterFolder, state: dict[str, Any], job: str) -> bool:
    """Whether nobody is there who would still write the state, as far as can be seen from here."""
    if not process.is_process(job):
        return time.time() - folder.state_file.stat().st_mtime > _GONE_SECONDS
    # Its watchdog has the cluster's mark, and may be at work for as long as a store writes.
    return process.is_here(job) and not watchdog.marked(f"{state['cluster']}/")


def down(folder: ClusterFolder) -> dict[str, Any]:
    """End a cluster, and wait until nothing is left of it. Ending it twice does no harm.

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
    """By a word to the leader, or by the scheduler where it does not hear."""
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
    """How long a leader may take to end all: the command, the agents, Spark's master, the rest."""
    return CONNECT_SECONDS + 3 * plan.own("stop") + plan.end_seconds + STOP_SECONDS


def planned(plan: ClusterPlan) -> ClusterPlan:
    """A plan with a name, checked and completed."""
    return completed(replace(plan, cluster=plan.cluster or new_name()))
