"""Inputs that are no files of this machine but at URIs.

What the tasks of an engine read is verified where it is; for an engine with a client of its own it
is copied, outside the timed part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cuesta import machine, uris
from cuesta.engines import Engine, ReadsRemote, ReadsUris
from cuesta.errors import EngineMissing, InputError
from cuesta.lab import inputs
from cuesta.lab.inputs import CACHE_AS_IS, InputFacts
from cuesta.lab.verify import Verification
from cuesta.trial import Trial, is_remote


def check(engine: Engine, paths: Iterable[str], cache: str) -> None:
    """Errors: `InputError` when `engine` can't read a URI, or its pages can't be dropped;
    `EngineMissing` when what reads it is not installed.
    """
    for path in filter(is_remote, paths):
        by_tasks = _by_tasks(engine)
        if not by_tasks and not isinstance(engine, ReadsRemote):
            raise InputError(
                f"engine {engine.name} reads files and folders, not {path}; engine native does"
            )
        if by_tasks and (lacking := uris.missing(path)):
            raise EngineMissing(lacking)
        if cache != CACHE_AS_IS:
            raise InputError(f"--cold: {path} is cached, if at all, on other machines")


def _by_tasks(engine: Engine) -> bool:
    return isinstance(engine, ReadsUris) and engine.reads_uris


def describe(engine: Engine, trial: Trial, scratch: Path) -> tuple[InputFacts, ...]:
    """Sizes of all inputs. Errors: `InputError` when one can't be read."""
    return tuple(_describe(engine, trial, path, scratch) for path in trial.inputs)


def with_copies(engine: Engine, trial: Trial, facts: Iterable[InputFacts], scratch: Path) -> Trial:
    """The trial with copies in `scratch` for what only its engine reads; itself without such.

    Errors: `InputError` when there is no room for the copies.
    """
    if _by_tasks(engine) or not any(map(is_remote, trial.inputs)):
        return trial
    need_bytes = sum(fact.bytes for fact in facts if is_remote(fact.path))
    machine.check_room(scratch, need_bytes, "the verification copies inputs")
    copies = (_fetch(engine, trial, number, scratch) for number in range(len(trial.inputs)))
    return replace(trial, inputs=tuple(copies))


def told(verification: Verification, trial: Trial, readable: Trial) -> Verification:
    """The verification, saying that it was done on copies where it was."""
    if verification.verified is None or readable.inputs == trial.inputs:
        return verification
    return replace(verification, method=f"{verification.method}, on copies of the inputs")


def _describe(engine: Engine, trial: Trial, path: str, scratch: Path) -> InputFacts:
    if not is_remote(path):
        return inputs.describe(path)
    if not _by_tasks(engine) and isinstance(engine, ReadsRemote):
        size_bytes, files = engine.remote_facts(trial, path, scratch)
        return InputFacts(path=path, bytes=size_bytes, files=files)
    sizes = uris.sizes(path)
    return InputFacts(path=path, bytes=sum(sizes), files=len(sizes))


def _fetch(engine: Engine, trial: Trial, number: int, scratch: Path) -> str:
    path = trial.inputs[number]
    if not is_remote(path) or not isinstance(engine, ReadsRemote):
        return path
    folder = scratch / f"input-{number}"
    folder.mkdir()
    return str(engine.fetch(trial, path, folder))
