"""What lost executors have cost a run, by Spark's event log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Facts = dict[str, float]

_WANTED_REASONS = ("ExecutorLostFailure", "FetchFailed", "Resubmitted")
"""Why tasks are done again that did nothing wrong: their executor is gone, or one whose shuffle
blocks they read; or their own blocks are gone with it."""
_IN_ORDER = ("killed by driver", "decommissioned")
"""What Spark says of an executor that was asked to end."""


def losses(events: Iterable[dict[str, Any]], group: str) -> Facts:
    """Sums over the jobs of a job group; empty when there is no such job.

    Returns `executors_lost`; `tasks_lost`, ends of tasks that were due to that; and
    `repeated_task_seconds`, the time of all attempts of tasks but the last that succeeded.
    """
    stages: set[int] = set()
    executors = lost = 0
    whole = 0.0
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
            # A task whose blocks are gone ends a second time with the times of the first.
            if reason == "Resubmitted":
                continue
            taken = max(0, info["Finish Time"] - info["Launch Time"]) / 1e3
            whole += taken
            if reason == "Success":
                useful[_place(event)] = taken
    if not stages:
        return {}
    return {
        "executors_lost": executors,
        "tasks_lost": lost,
        "repeated_task_seconds": whole - sum(useful.values()),
    }


def _place(event: dict[str, Any]) -> tuple[int, int]:
    """A task of a stage, whichever attempt of task or stage it is."""
    info = event["Task Info"]
    return event["Stage ID"], int(info.get("Partition ID", info.get("Index", 0)))
