"""Inputs at URIs rather than in files of this machine.

Inputs that Cuesta reads are verified in place; for an engine with its own client they are copied,
outside the timed part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cuesta import machine
from cuesta.engines import Engine
from cuesta.errors import EngineMissing, InputError
from cuesta.lab import inputs
from cuesta.lab.inputs import CACHE_AS_IS, CACHE_INPUT_DROPPED, InputFacts
from cuesta.lab.verify import Verification
from cuesta.trial import Trial, is_remote, is_stored


def check(engine: Engine, paths: Iterable[str], cache: str) -> None:
    """Raise `InputError` if `engine` cannot read a URI, or its pages cannot be dropped.

    Errors: also `EngineMissing` if the reader of a URI is not installed, or no store runs.
    """
    able = engine.capabilities
    for path in filter(is_remote, paths):
        from cuesta import uris

        if not (able.has_uri_client or able.reads_uris):
            raise InputError(
                f"engine {engine.name} reads files and folders, not {path}; engine native does"
            )
        if able.has_uri_client and is_stored(path):
            raise InputError(
                f"engine {engine.name} has a client of its own, which does not read the store; "
                f"give it the file itself, or {path} to another engine, such as native"
            )
        if not able.has_uri_client and (lacking := uris.missing(path)):
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
    """Return the sizes of all inputs. Errors: `InputError` if one cannot be read."""
    return tuple(_describe(engine, trial, path, scratch) for path in trial.inputs)


def with_copies(engine: Engine, trial: Trial, facts: Iterable[InputFacts], scratch: Path) -> Trial:
    """Replace the inputs of a trial that only its engine reads by copies in `scratch`.

    Errors: `InputError` if there is no room for the copies.
    """
    if not engine.capabilities.has_uri_client or not any(map(is_remote, trial.inputs)):
        return trial
    need_bytes = sum(fact.bytes for fact in facts if is_remote(fact.path))
    machine.check_room(scratch, need_bytes, "the verification copies inputs")
    copies = (
        _fetch(engine, trial, number, scratch) if is_remote(path) else path
        for number, path in enumerate(trial.inputs)
    )
    return replace(trial, inputs=tuple(copies))


def note_copies(verification: Verification, trial: Trial, readable: Trial) -> Verification:
    """Mention in the method of a verification that it used copies, if it did."""
    if verification.verified is None or readable.inputs == trial.inputs:
        return verification
    return replace(verification, method=f"{verification.method}, on copies of the inputs")


def _describe(engine: Engine, trial: Trial, path: str, scratch: Path) -> InputFacts:
    if not is_remote(path):
        return inputs.describe(path)
    if engine.capabilities.has_uri_client:
        size_bytes, files = engine.remote_facts(trial, path, scratch)
        return InputFacts(path=path, bytes=size_bytes, files=files)
    from cuesta import uris

    sizes = uris.sizes(path)
    return InputFacts(path=path, bytes=sum(sizes), files=len(sizes))


def _fetch(engine: Engine, trial: Trial, number: int, scratch: Path) -> str:
    folder = scratch / f"input-{number}"
    folder.mkdir()
    return str(engine.fetch(trial, trial.inputs[number], folder))
