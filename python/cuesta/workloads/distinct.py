"""Check that no input of a workload is the same file as another, which would count twice."""

from __future__ import annotations

from pathlib import Path

from cuesta.native import native_module
from cuesta.trial import Trial, is_path, is_stored

_OF_VERSIONS = frozenset({"join"})
"""Workloads that compare their inputs: a version may be compared with itself."""
_OF_PAIRS = frozenset({"communities", "degrees", "load", "scan"})
"""Workloads whose inputs must differ in their content, too: an edge counts once."""
_BY_ITSELF = frozenset({"assemble"})
"""Workloads that check their inputs when the run begins, read pairs included."""


def check(trial: Trial) -> None:
    """Check the inputs of a trial, files of folders included. Errors: `InputError` naming both."""
    if trial.workload in _BY_ITSELF | _OF_VERSIONS or not trial.inputs:
        return
    # Each engine has its own client for other URIs.
    paths = [path for path in trial.inputs if is_path(path) or is_stored(path)]
    native_module().require_distinct(paths, trial.workload in _OF_PAIRS)


def remarks(trial: Trial) -> list[str]:
    """Return a sentence where a version is compared with itself."""
    if trial.workload not in _OF_VERSIONS or not all(map(is_path, trial.inputs)):
        return []
    first, second = map(Path, trial.inputs)
    if first.samefile(second):
        return [f"{first} and {second} are the same file, which has all its pairs in common"]
    return []
