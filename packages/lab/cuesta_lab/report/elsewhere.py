"""Runs whose tasks were on other machines than the one that was measured."""

from __future__ import annotations

from cuesta.report.records import Run, mapping, number


def is_elsewhere(run: Run) -> bool:
    """Whether the tasks were, or may have been, on other machines than the measured one."""
    options = run.object("engine_options")
    is_dask_elsewhere = bool(options.get("scheduler"))
    is_on_yarn = any(str(text).endswith(" on YARN") for text in run.object("versions").values())
    is_other_master = not str(options.get("master", "local")).startswith("local")
    has_remote = "remote" in run.fields
    return is_dask_elsewhere or is_on_yarn or is_other_master or has_remote


def cores_of_tasks(run: Run) -> int:
    """Cores that tasks had: one a rank, or as many as threads were requested."""
    ranks = number(mapping(run.object("answer").get("counts")).get("ranks"))
    return int(ranks or run.number("threads") or 0)
