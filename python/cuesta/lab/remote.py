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
from cuesta.lab.inputs import CACHE_AS_IS, CACHE_INPUT_DROPPED, InputFacts
from cuesta.lab.verify import Verification
from cuesta.trial import Trial, is_remote, is_stored


def check(engine: Engine, paths: Iterable[str], cache: str) -> None:
    """Errors: `InputError` when `engine` can't read a URI, or its pages can't be dropped;
    `EngineMissing` when what reads it is not installed, or no store runs.
    """
    for path in filter(is_remote, paths):
        if not isinstance(engine, ReadsRemote | ReadsUris):
            raise InputError(
                f"engine {engine.name} reads files and folders, not {path}; engine native does"
            )
        if isinstance(engine, ReadsRemote) and is_stored(path):
            raise InputError(
                f"engine {engine.name} has a client of its own, which does not read the store; "
                f"give it the file itself, or {path} to another engine, such as native"
            )
        if not isinstance(engine, ReadsRemote) and (lacking := uris.missing(path)):
            raise EngineMissing(lacking)
        if cache != CACHE_AS_IS and is_stored(path):
            raise InputError(
                f"--cold: {path} is in the memory of the store, which the page cache does not "
                "hold; `cuesta store free` takes it out"
            )
        if cache == CACHE_INPUT_DROPPED:
            raise InputError(
                f"--cold: {path} is cached, if at all, by its storage; where that is on this "
                "machine, --cold=machine empties its page cache"
            )


def describe(engine: Engine, trial: Trial, scratch: Path) -> tuple[InputFacts, ...]:
    """Sizes of all inputs. Errors: `InputError` when one can't be read."""
    return tuple(_describe(engine, trial, path, scratch) for path in trial.inputs)


def with_copies(engine: Engine, trial: Trial, facts: Iterable[InputFacts], scratch: Path) -> Trial:
    """The trial with copies in `scratch` for what only its engine reads; itself without such.

    Errors: `InputError` when there is no room for the copies.
    """
    if not isinstance(engine, ReadsRemote) or not any(map(is_remote, trial.inputs)):
        return trial
    need_bytes = sum(fact.bytes for fact in facts if is_remote(fact.path))
    machine.check_room(scratch, need_bytes, "the verification copies inputs")
    copies = (
        _fetch(engine, trial, number, scratch) if is_remote(path) else path
        for number, path in enumerate(trial.inputs)
    )
    return replace(trial, inputs=tuple(copies))


def note_copies(verification: Verification, trial: Trial, readable: Trial) -> Verification:
    """The verification, saying that it was done on copies where it was."""
    if verification.verified is None or readable.inputs == trial.inputs:
        return verification
    return replace(verification, method=f"{verification.method}, on copies of the inputs")


def _describe(engine: Engine, trial: Trial, path: str, scratch: Path) -> InputFacts:
    if not is_remote(path):
        return inputs.describe(path)
    if isinstance(engine, ReadsRemote):
        size_bytes, files = engine.remote_facts(trial, path, scratch)
        return InputFacts(path=path, bytes=size_bytes, files=files)
    sizes = uris.sizes(path)
    return InputFacts(path=path, bytes=sum(sizes), files=len(sizes))


def _fetch(engine: ReadsRemote, trial: Trial, number: int, scratch: Path) -> str:
    folder = scratch / f"input-{number}"
    folder.mkdir()
    return str(engine.fetch(trial, trial.inputs[number], folder))
