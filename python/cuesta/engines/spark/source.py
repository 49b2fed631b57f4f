"""A version of a dataset as a DataFrame, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cuesta import machine
from cuesta.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cuesta.engines.spark.context import Context
    from cuesta.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Source:
    """The columns of every row that passes, to be computed when they are asked for."""

    rows: DataFrame
    size_bytes: int
    partitions: int


def open_source(context: Context, inputs: tuple[str, ...], kind: str, version: str = "") -> Source:
    """The columns of `kind` of one version. Errors: `InputError` when it holds no gene pair."""
    from cuesta.engines.spark import hadoop, plan

    if are_remote(inputs):
        return hadoop.open_source(context, inputs, kind, version)
    made = plan.make_plan(context, inputs, kind)
    rows = plan.read(context, made, kind, version)
    return Source(rows=rows, size_bytes=made.size_bytes, partitions=len(made.tasks))


def on_disk(context: Context) -> Trial:
    """The trial with copies in scratch for inputs that only Spark can read; itself without such.

    Executors open the copies, so scratch must be a folder that they share. Errors: `InputError`
    when there is no room for them.
    """
    trial = context.trial
    if not are_remote(trial.inputs):
        return trial
    from cuesta.engines.spark import hadoop

    with context.phase("fetch") as measure:
        files = [file for uri in trial.inputs for file in hadoop.files_of(context.session, uri)]
        measure.bytes = sum(file.size_bytes for file in files)
        machine.check_room(context.scratch, measure.bytes, f"engine spark copies {trial.inputs[0]}")
        copies = []
        for number, uri in enumerate(trial.inputs):
            folder = context.scratch / f"fetched-{number}"
            folder.mkdir()
            context.copies.append(folder)
            copies.append(str(hadoop.fetch(context.session, uri, folder)))
    return replace(trial, inputs=tuple(copies))


def are_remote(inputs: tuple[str, ...]) -> bool:
    """Whether only Spark can read these. Errors: `InputError` for some of each."""
    remote = [path for path in inputs if "://" in path]
    if remote and len(remote) < len(inputs):
        local = next(path for path in inputs if path not in remote)
        raise InputError(
            f"{remote[0]} and {local} are read in different ways; give either paths or URIs"
        )
    return bool(remote)
