"""What a user's process does with a cluster: hand it in, wait for it, look at it, end it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cuesta.cluster import watchdog
from cuesta.cluster.folder import ClusterFolder, telling_line, write_private
from cuesta.cluster.limits import CONNECT_SECONDS, START_SECONDS, STOP_SECONDS
from cuesta.cluster.schedulers import GONE, get_scheduler, process
from cuesta.cluster.settings import ClusterPlan, check, from_json, to_json
from cuesta.cluster.spark import preset
from cuesta.cluster.wire import WireError, connect
from cuesta.errors import EngineError, EngineMissing, InputError

OVER = ("ended", "failed")
"""States after which nothing happens any more."""
_LOOK_SECONDS = 0.05
_GONE_SECONDS = 10.0
"""How long a job may be gone before a state that says otherwise is taken for wrong: folders that
nodes share show changes late, and a watchdog has the last word."""


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

    Arguments: `plan` is one that is `completed`.
    """
    scheduler = get_scheduler(plan.allocation.scheduler)
    lacking = scheduler.missing()
    if lacking:
        raise EngineMissing(lacking)
    folder.make()
    write_private(folder.plan_file, json.dumps(to_json(plan), indent=1) + "\n")
    folder.script.write_text(scheduler.script(plan, folder))
    folder.script.chmod(0o700)
    state = {
        "schema": "cuesta.cluster/1",
        "cluster": plan.cluster,
        "scheduler": scheduler.name,
        "state": "submitted",
        "times": {"submitted": time.time()},
    }
    folder.write(state)
    job = scheduler.submit(folder)
    # The leader may write by now, so the name of its job goes into a file of its own.
    write_private(folder.job_file, job)
    return job


def wait(
    folder: ClusterFolder, until: Callable[[dict[str, Any]], bool], seconds: float | None
) -> dict[str, Any]:
    """The state once `until` holds for it, or all is over. Errors: `EngineError` after so long."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        state = status(folder)
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
    found = wait(folder, lambda state: "ready" in state["times"], 3 * START_SECONDS)
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
    scheduler = get_scheduler(state["scheduler"])
    silent = time.time() - folder.state_file.stat().st_mtime
    unwatched = process.is_process(job) and not watchdog.marked(f"{state['cluster']}/")
    if (unwatched or silent > _GONE_SECONDS) and scheduler.state(job) == GONE:
        again = folder.read()
        if again["state"] in OVER:
            return again
        said = telling_line(folder.log("leader"))
        why = f"the leader has ended without a word: {said[:300]}; {folder.log('leader')}"
        state = again | {"state": "failed", "why": why, "code": 3}
        folder.write(state)
    return state


def down(folder: ClusterFolder) -> dict[str, Any]:
    """End a cluster, and wait until nothing is left of it. Ending it twice does no harm."""
    state = status(folder)
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
        get_scheduler(state["scheduler"]).cancel(folder.job())


def _ended(folder: ClusterFolder) -> dict[str, Any]:
    plan = from_json(folder.plan())
    seconds = CONNECT_SECONDS + 4 * plan.own("stop") + STOP_SECONDS
    try:
        return wait(folder, lambda state: state["state"] in OVER, seconds)
    except EngineError:
        get_scheduler(plan.allocation.scheduler).cancel(folder.job())
        return wait(folder, lambda state: state["state"] in OVER, seconds)


def planned(plan: ClusterPlan) -> ClusterPlan:
    """A plan with a name, checked and completed."""
    return completed(replace(plan, cluster=plan.cluster or new_name()))
