"""Cost of lost executors in a run, from Spark's event log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Facts = dict[str, float]

_WANTED_REASONS = ("ExecutorLostFailure", "FetchFailed", "Resubmitted")
"""Reasons to repeat tasks without a fault of their own: loss of their executor, of one whose
shuffle blocks they read, or of their own blocks."""
_IN_ORDER = ("killed by driver", "decommissioned")
"""Spark's reasons for the end of an executor on request."""


def losses(events: Iterable[dict[str, Any]], group: str) -> Facts:
    """Return sums over the jobs of a job group; empty when it has no job.

    These are `executors_lost`; `tasks_lost`, ends of tasks due to that; and
    `repeated_task_seconds`, the time of all attempts of tasks but the last that succeeded.
    """
    stages: set[int] = set()
    executors = lost = 0
    total_seconds = 0.0
    useful: dict[tuple[int, int], float] = {}
    for event in events:
        kind = event["Event"]
        if kind == "SparkListenerJobStart":
            if (event.get("Properties") or {}).get("spark.jobGroup.id") == group:
                stages.update(event["Stage IDs"])
        elif kind == "SparkListenerExecutorRemoved":
            reason = str(event.get("Removed Reason", "")).lower()
            executors += not any(words in reason for words in _IN_ORDER)
        elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            reason = (event.get("Task End Reason") or {}).get("Reason", "Success")
            lost += reason in _WANTED_REASONS
            info = event["Task Info"]
            # A task whose blocks are lost ends a second time with the times of the first end.
            if reason == "Resubmitted":
                continue
            elapsed = max(0, info["Finish Time"] - info["Launch Time"]) / 1e3
            total_seconds += elapsed
            if reason == "Success":
                useful[_place(event)] = elapsed
    if not stages:
        return {}
    return {
        "executors_lost": executors,
        "tasks_lost": lost,
        "repeated_task_seconds": total_seconds - sum(useful.values()),
    }


def _place(event: dict[str, Any]) -> tuple[int, int]:
    """Return the identity of a task, the same for all attempts of task and stage."""
    info = event["Task Info"]
    return event["Stage ID"], int(info.get("Partition ID", info.get("Index", 0)))
