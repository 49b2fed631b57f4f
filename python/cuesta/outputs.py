"""Checks of places for output: local, no inputs, and nothing that Cuesta must not replace."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cuesta import machine
from cuesta.errors import InputError
from cuesta.trial import STANDARD_INPUT, is_remote, is_stored
from cuesta.untrusted import check_name

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/.*", re.DOTALL)
"""A path has lost one of the two slashes; a scheme has two letters at least."""

_RECORDS = {
    "run.json": b'"cuesta.run/',
    "compare.json": b'"cuesta.compare/',
    "programs.json": b'"cuesta.programs/',
}
"""Records of answer folders, and the schema that each names near its beginning."""
_SCHEMA_BYTES = 64 << 10
_BESIDE_ANSWER = ("assessment.json", "report.html", "run.json.sig")
"""Files in an answer folder which its verification expects and no engine writes."""


class Place(NamedTuple):
    """A file or folder that exists: its device and its number there."""

    device: int
    inode: int


def check_local(output: Path | str, option: str = "-o") -> None:
    """Refuse a URI, which a path would make a local folder of, and a place in an answer folder.

    Errors: `InputError`.
    """
    check_name(output, option)
    check_links(output, option)
    _check_outside_answers(Path(output), option)
    match = _URI.fullmatch(str(output))
    if match is None:
        return
    scheme = match[1].lower()
    uri = re.sub(r":/+", ":///" if scheme in ("cuesta", "file") else "://", str(output), count=1)
    if scheme == "file":
        path = "/" + str(output).partition(":")[2].lstrip("/")
        raise InputError(f"{option} {uri}: give the path alone, {option} {path}")
    remedy = f"give {option} PATH, then copy it with `cuesta store cp`, or give a mounted folder"
    if scheme != "cuesta":
        remedy = f"give {option} PATH, or a mounted folder, then copy it there"
    raise InputError(f"{option} {uri}: output is written to local paths; {remedy}")


def check_links(path: Path | str, option: str) -> None:
    """Refuse a path through links that lead back to themselves.

    Errors: `InputError`; `OSError` where the working folder is gone.
    """
    Path.cwd()
    try:
        Path(path).resolve()
    except (OSError, RuntimeError):
        raise InputError(
            f"{option} {path}: has links that lead back to themselves; give another {option}"
        ) from None


def _check_outside_answers(output: Path, option: str) -> None:
    """Refuse a place in an answer folder: a file that its record lacks fails the verification."""
    real = Path(os.path.realpath(output))
    folder = next((above for above in real.parents if _is_answer(above)), None)
    if folder is None or (folder == real.parent and real.name in _BESIDE_ANSWER):
        return
    raise InputError(
        f"{option} {output} is in the answer folder {folder}, which would not verify any more; "
        "give a place apart from it"
    )


def _is_answer(folder: Path) -> bool:
    for name, schema in _RECORDS.items():
        with contextlib.suppress(OSError):
            if (folder / name).is_file():
                with (folder / name).open("rb") as file:
                    return schema in file.read(_SCHEMA_BYTES)
    return False


def check_apart(output: Path, inputs: Iterable[str], option: str = "-o") -> None:
    """Refuse an output that is an input, contains one or is inside of one.

    By device and number of files and folders, so that links and second mounts of a folder do not
    hide it. Errors: `InputError`.
    """
    written = {place: path for path, place in _above(output)}
    final = _place(output)
    for source in inputs:
        path = _local(source)
        place = path and _place(path)
        if path is None or place is None:
            continue
        if place == final:
            raise InputError(f"{option} {output} is the input {source}; give another {option}")
        if final and any(above == final for _, above in _above(path)):
            raise InputError(
                f"{option} {output} contains the input {source}; give a folder apart from it"
            )
        if place in written and path.is_dir():
            raise InputError(
                f"{option} {output} lies in the input {source}, which would change; give a folder "
                "apart from it"
            )


def check_replaceable(output: Path) -> None:
    """Refuse a folder that is more than an output. Errors: `InputError`."""
    place = _place(output)
    if place is None:
        return
    if any(above == place for _, above in _above(Path.cwd())):
        raise InputError(f"{output} contains the current folder; give a folder below it")
    with contextlib.suppress(RuntimeError):
        if any(above == place for _, above in _above(machine.home())):
            raise InputError(f"{output} contains your home folder; give a folder below it")
    if os.path.ismount(output):
        raise InputError(f"{output} is where something is mounted; give a folder below it")


def _above(path: Path) -> Iterator[tuple[Path, Place]]:
    """Yield the places of a path and of all folders above it, where they exist."""
    real = Path(os.path.realpath(path))
    for folder in (real, *real.parents):
        place = _place(folder)
        if place is not None:
            yield folder, place


def _place(path: Path) -> Place | None:
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return None
    return Place(facts.st_dev, facts.st_ino)


def _local(source: str) -> Path | None:
    """Return the path of an input on this machine; of one in a store, that below it."""
    if is_stored(source):
        return _under(source)
    if source.startswith("file://"):
        return Path("/" + source.removeprefix("file://").lstrip("/"))
    return None if is_remote(source) or source == STANDARD_INPUT else Path(source)


def _under(uri: str) -> Path | None:
    """Return the path in the folder that a store is over, where one runs."""
    from cuesta.native import native_module

    under: Path | None = native_module().store_under()
    return None if under is None else Path(under, uri.partition("://")[2].lstrip("/"))
