"""Descriptions of input tables and images as they are recognised, before the work."""

from __future__ import annotations

from pathlib import Path

from cuesta.native import native_module, to_request
from cuesta.trial import Trial, is_remote, is_stored
from cuesta.workloads import get_workload

RECOGNISED = frozenset({"correlate", "images", "kmeans", "modules", "threshold"})
"""Workloads that read tables of numbers, or images."""


def sentences(trial: Trial) -> list[str]:
    """Return a sentence on each table or kind of image, and doubts about it.

    Errors: `InputError` for an input that cannot be read, or in two ways.
    """
    if trial.workload not in RECOGNISED:
        return []
    if any(is_remote(path) and not is_stored(path) for path in trial.inputs):
        return []
    if get_workload(trial.workload).converter == "matrix":
        from cuesta.workloads import matrix

        described = matrix.sentences(trial)
        if described is not None:
            return described
    request = to_request(trial, Path(), Path())
    if trial.workload != "kmeans":
        texts: list[str] = native_module().recognised(trial.workload, request)
        return texts
    from cuesta.workloads import points

    points.check(trial)
    texts = native_module().recognised(trial.workload, request)
    return [*texts, *points.sentences(trial)]
