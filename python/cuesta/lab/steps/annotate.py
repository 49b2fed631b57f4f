"""Fourth step of a trial: names, a graph, a test and derived files in its answer."""

from __future__ import annotations

from typing import NamedTuple

from cuesta.lab import names
from cuesta.lab.names import Naming
from cuesta.lab.steps.execute import Executed
from cuesta.workloads import derived, edges


class Annotated(NamedTuple):
    """A trial whose answer has all its files; `naming` is None if none was added."""

    executed: Executed
    naming: Naming | None


def annotate(executed: Executed) -> Annotated:
    """Add names, a graph and a test to the answer if the trial requests them, and derived files.

    Errors: `InputError`; `OSError` if the disk is full.
    """
    prepared = executed.prepared
    folder, observer = prepared.folder, prepared.request.observer
    edges.share(prepared.trial, folder.streams, folder.scratch)
    naming = names.annotate(executed.readable, folder.answer, folder.scratch, observer)
    plan = prepared.request.plan
    derived.write(prepared.trial.workload, folder.answer, plan.sample_name)
    executed.files.settle()
    return Annotated(executed=executed, naming=naming)
