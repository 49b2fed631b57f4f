"""Finds a loaded array for an input, or loads one: in scratch, or in a folder for later runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta import removal
from cuesta.engines.array import store
from cuesta.engines.array.load import FORMAT, load
from cuesta.engines.array.store import Facts
from cuesta.engines.array.writer import LoadRequest
from cuesta.errors import InputError

if TYPE_CHECKING:
    from cuesta.engines.array.loaders import Loaders


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """An array ready for queries."""

    place: Path
    facts: Facts
    reused: bool


def scratch_place(scratch: Path, number: int) -> Path:
    """Return the path of the array of an input in the scratch folder."""
    return scratch / f"array-{number}"


def load_in(
    scratch: Path, number: int, request: LoadRequest, loaders: Loaders | None = None
) -> Loaded:
    """Load an array into the scratch folder. Arguments: `loaders` as for `load`."""
    place = scratch_place(scratch, number)
    return Loaded(place=place, facts=load(request, place, loaders), reused=False)


def load_or_reuse(
    folder: Path, inputs: list[str], request: LoadRequest, loaders: Loaders | None = None
) -> Loaded:
    """Return the array of `inputs` in `folder`, loading it if there is none.

    Arguments: `loaders` as for `load`.

    A load that is stopped leaves no array that appears complete; two runs with the same array load
    it once. Errors: `InputError` when the array does not match the current inputs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = _name(inputs)
    place = folder / name
    with _locked(folder / f".{name}.lock"):
        if place.exists():
            return Loaded(place=place, facts=_checked(place, inputs, request), reused=True)
        unfinished = folder / f".{name}.loading"
        removal.remove_marked(unfinished)
        removal.make_marked(unfinished)
        try:
            facts = load(request, unfinished / "array", loaders)
            removal.put_new(unfinished / "array", place)
        finally:
            removal.discard(unfinished)
    return Loaded(place=place, facts=facts, reused=False)


def _checked(place: Path, inputs: list[str], request: LoadRequest) -> Facts:
    with store.session(request.threads, {}):
        facts = store.read_facts(place)
    if facts is None or facts.format != FORMAT:
        reason = "is not an array that this version of cuesta loaded"
    elif facts.score_index != request.score_index:
        reason = (
            f"was loaded for --score-index {facts.score_index}, this run asks for "
            f"{request.score_index}"
        )
    elif request.sizes.extents and facts.extents != request.extents.lengths:
        reason = (
            f"was loaded in tiles of {'x'.join(map(str, facts.extents))}, not {request.extents}"
        )
    elif request.sizes.capacity and facts.tile_rows != request.sizes.capacity:
        reason = f"was loaded with capacity {facts.tile_rows}, not {request.sizes.capacity}"
    elif facts.sources != request.text.fingerprint():
        reason = f"was loaded before {', '.join(inputs)} changed"
    else:
        return facts
    raise InputError(
        f"array: {place} {reason}; delete it, or name another folder with --engine-option array=DIR"
    )


def _name(inputs: list[str]) -> str:
    """Return a readable name with a digest of the paths of the inputs."""
    paths = [os.path.realpath(path) for path in inputs]
    digest = hashlib.blake2b("\0".join(paths).encode("utf-8", "surrogateescape"), digest_size=6)
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(paths[0]).name).strip("-")
    return f"{stem[:40]}-{digest.hexdigest()}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which is released at the latest when the process ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
