"""A version of a dataset as a DataFrame, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuesta.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cuesta.engines.spark.context import Context


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


def are_remote(inputs: tuple[str, ...]) -> bool:
    """Whether only Spark can read these. Errors: `InputError` for some of each."""
    remote = [path for path in inputs if "://" in path]
    if remote and len(remote) < len(inputs):
        local = next(path for path in inputs if path not in remote)
        raise InputError(
            f"{remote[0]} and {local} are read in different ways; give either paths or URIs"
        )
    return bool(remote)
