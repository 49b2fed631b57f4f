"""Describes a planned cluster, and the state of a running one, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cuesta.cluster import yarn
from cuesta.cluster.folder import OVER, ClusterFolder
from cuesta.cluster.limits import MEMORY_SHARE
from cuesta.cluster.schedulers import get_scheduler
from cuesta.cluster.settings import CLUSTER_SETTINGS, ClusterPlan
from cuesta.cluster.spark import NodeUse, derived
from cuesta.units import format_bytes, format_seconds


def described(plan: ClusterPlan, folder: ClusterFolder) -> str:
    """Return the job's script, and all settings with their values."""
    script = get_scheduler(plan.allocation.scheduler).script(plan, folder)
    return "\n".join([script, *_settings(plan), ""])


def _settings(plan: ClusterPlan) -> Iterator[str]:
    share = plan.share
    yield "# of each node"
    yield f"cores {share.cores or 'all'}"
    memory = share.memory_bytes
    yield f"memory {format_bytes(memory) if memory else f'{MEMORY_SHARE:.0%} of it'}"
    yield f"interface {share.interface or 'that of its name'}"
    yield f"scratch {share.scratch or '$TMPDIR, else /tmp'}"
    yield f"with {', '.join(plan.services)}"
    yield "# of the cluster, --set NAME=VALUE"
    for name, (_, meaning) in CLUSTER_SETTINGS.items():
        yield f"{name} {plan.setting(name):g} ({meaning})"
    use = NodeUse(cores=share.cores or 1, memory_bytes=memory or 1 << 30)
    of_services = {
        "spark": ("Spark, --set spark.NAME=VALUE", derived(plan, use)),
        "yarn": ("YARN, --set yarn.NAME=VALUE or mapreduce.NAME=VALUE", _of_yarn(plan, use)),
    }
    for service in sorted(of_services.keys() & set(plan.services)):
        title, settings = of_services[service]
        yield f"# of {title}"
        if not (share.cores and memory):
            yield "# as for nodes of 1 core and 1 GiB; what follows from nodes is found there"
        for name, value in sorted(settings.items()):
            yield f"{name} {value}"


def _of_yarn(plan: ClusterPlan, use: NodeUse) -> dict[str, str]:
    """Return settings of all daemons; values known on the nodes alone are in capitals."""
    ports = ["PORT"] * (yarn.MANAGER_PORTS + yarn.HISTORY_PORTS)
    return {
        **yarn.derived(plan, use),
        **yarn.placed("LEADER", ports, "DIR"),
        **yarn.of_node("NODE", "SCRATCH"),
        **plan.hadoop_sets,
    }


def state_lines(state: dict[str, Any], waits: str = "") -> Iterator[str]:
    """Describe a cluster, one fact in a line. Arguments: `waits` is why its job waits."""
    yield f"{_outcome(state)}: the job waits: {waits}" if waits else _outcome(state)
    is_over = state["state"] in OVER
    for node in state.get("nodes", ()):
        lost = state.get("lost", {}).get(node["name"])
        where = "" if is_over else f"{node['address']} ({node['interface']}), "
        yield f"{node['name']}: {where}Python {node['python']}, Java {node['java'] or 'none'}" + (
            f", lost: {lost}" if lost else ""
        )
        for service, why in state.get("services_lost", {}).get(node["name"], {}).items():
            yield f"{node['name']}: {service} is gone: {why}"
    for name, seconds in state.get("awaited", {}).items():
        yield f"{name}: has not started its agent for {format_seconds(seconds)}"
    if "spark" in state and not is_over:
        yield f"spark: {state['spark']['master']}, page {state['spark']['page']}"
    if "yarn" in state and not is_over:
        yield f"yarn: HADOOP_CONF_DIR={state['yarn']['conf']}, page {state['yarn']['page']}"
    yield from time_lines(state["times"])


def _outcome(state: dict[str, Any]) -> str:
    """Return the state with its reason, and the exit of a command that failed."""
    code = state.get("command_code", 0)
    if state["state"] == "ended" and code:
        how = f"killed by signal {-code}" if code < 0 else f"exit {code}"
        return f"failed: {how}"
    return f"{state['state']}: {state['why']}" if state.get("why") else str(state["state"])


def time_lines(times: dict[str, float]) -> Iterator[str]:
    """Describe the time to the first task, in the parts of `time_to_first_task`."""
    parts_s = time_to_first_task(times)
    if parts_s:
        parts = ", ".join(f"{name} {format_seconds(parts_s[name])}" for name in _PARTS)
        yield f"first task after {format_seconds(parts_s['whole'])}: {parts}"


_PARTS = ("scheduler", "ours", "Spark")


def time_to_first_task(times: dict[str, float]) -> dict[str, float]:
    """Return seconds from submission to Spark's first task, and the parts of these.

    The scheduler's part is until the leader runs, and from the request for agents until they run;
    Spark's is the start of master, workers and a session; the rest is ours. Empty without a task.
    """
    needed = ("submitted", "began", "allocated", "agents", "checked", "ready", "session", "task")
    if any(name not in times for name in needed):
        return {}
    scheduler = times["began"] - times["submitted"]
    scheduler += max(0.0, times["agents"] - times["allocated"])
    spark = times["ready"] - times["checked"] + times["task"] - times["session"]
    total = times["task"] - times["submitted"]
    ours = total - scheduler - spark
    return {"whole": total, "scheduler": scheduler, "ours": ours, "Spark": spark}
