"""Inputs as files that every executor can open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cuesta.errors import InputError
from cuesta.lab import remote

if TYPE_CHECKING:
    from cuesta.engines.spark.context import Context
    from cuesta.lab.trial import Trial


def on_disk(context: Context) -> Trial:
    """The trial with copies in scratch for inputs that only Spark can read; itself without such.

    Executors open the copies, so scratch must be a folder that they share. Errors: `InputError`
    when there is no room for them.
    """
    trial = replace(context.trial, inputs=tuple(map(_local, context.trial.inputs)))
    if not are_remote(trial.inputs):
        return trial
    from cuesta.engines.spark import hadoop

    with context.phase("fetch") as measure:
        files = [file for uri in trial.inputs for file in hadoop.files_of(context.session, uri)]
        measure.bytes = sum(file.size_bytes for file in files)
        remote.check_room(context.scratch, measure.bytes, f"engine spark copies {trial.inputs[0]}")
        copies: list[str] = []
        for number, uri in enumerate(trial.inputs):
            folder = context.scratch / f"fetched-{number}"
            folder.mkdir()
            context.copies.append(folder)
            copies.append(str(hadoop.fetch(context.session, uri, folder)))
            context.origins[copies[-1]] = uri
    return replace(trial, inputs=tuple(copies))


def _local(path: str) -> str:
    """The path of a `file://` URI, which needs no copy."""
    return path.removeprefix("file://")


def are_remote(inputs: tuple[str, ...]) -> bool:
    """Whether only Spark can read these. Errors: `InputError` for some of each."""
    remote = [path for path in inputs if "://" in path]
    if remote and len(remote) < len(inputs):
        local = next(path for path in inputs if path not in remote)
        raise InputError(
            f"{remote[0]} and {local} are read in different ways; give either paths or URIs"
        )
    return bool(remote)
