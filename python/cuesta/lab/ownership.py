"""Content of an answer folder that Cuesta wrote, by its record or a mark, and its removal."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cuesta import removal, untrusted
from cuesta.errors import InputError, disk_error, in_words
from cuesta.lab import record
from cuesta.machine import cores_usable
from cuesta.native import native_module
from cuesta.removal import Identity, identity

COMPARISON = "compare.json"
PROGRAMS = "programs.json"
HASHED_BYTES = 64 << 20
"""Size up to which files are always hashed; larger ones only if younger than their record."""
_SCHEMAS = {
    record.FILE_NAME: "cuesta.run/",
    COMPARISON: "cuesta.compare/",
    PROGRAMS: "cuesta.programs/",
}

Content = dict[PurePosixPath, Identity]


@dataclass(kw_only=True)
class Holdings:
    """Content of an answer folder.

    Attributes
    ----------
    owned
        Files and folders that Cuesta wrote and that are unchanged.
    foreign
        Sentences about all other files.
    """

    owned: Content = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


def holdings(
    folder: Path, known: Mapping[PurePosixPath, Identity] | None = None
) -> Holdings | None:
    """Return the content of an answer folder, or None without a record of Cuesta in it.

    Content as in `known` is not hashed anew. If any file is foreign by its name, nothing is
    hashed. Errors: `OSError`.
    """
    for name in (record.FILE_NAME, PROGRAMS):
        if _record(folder / name) is not None:
            return _of_run(folder, PurePosixPath(), known or {}, name)
    comparison = _record(folder / COMPARISON)
    if comparison is None:
        return None
    result = Holdings()
    engines = _engines(comparison)
    for name, facts in _entries(folder):
        path = PurePosixPath(name)
        if name == COMPARISON:
            result.owned[path] = identity(facts)
        elif name in engines and stat.S_ISDIR(facts.st_mode) and _has_record(folder / name):
            inner = _of_run(folder / name, path, known or {})
            result.owned |= {path: identity(facts), **inner.owned}
            result.foreign += inner.foreign
        else:
            _judge(folder / name, path, facts, result)
    return result


def is_answer(folder: Path) -> bool:
    """Whether a folder has a record of Cuesta."""
    return any(_record(folder / name) is not None for name in _SCHEMAS)


def replaceable(
    output: Path, known: Mapping[PurePosixPath, Identity] | None = None
) -> dict[PurePosixPath, Identity]:
    """Return the content of an answer folder that Cuesta wrote entirely, or of an empty folder.

    Errors: `InputError` with a foreign file.
    """
    refusal = (
        f"{output} is not an answer folder, so --overwrite will not replace it; give another -o"
    )
    if not output.is_dir():
        raise InputError(refusal)
    try:
        if not any(output.iterdir()):
            return {}
        content = holdings(output, known)
    except OSError as error:
        raise disk_error(error, str(output)) from None
    if content is None:
        raise InputError(refusal)
    if content.foreign:
        raise InputError(
            f"{output}: {_first(content.foreign)}, so --overwrite will not replace it; move it away"
        )
    return content.owned


def forget(old: Path, content: Mapping[PurePosixPath, Identity]) -> list[str]:
    """Remove an answer by the names of its content; return a sentence if something remains."""
    try:
        remaining = removal.remove_listed(old, content)
    except OSError as error:
        return [f"{old} remains: {error.filename}: {in_words(error)}"]
    if not remaining:
        return []
    return [f"{old} remains: {_first(map(str, remaining))} is not of the answer that was replaced"]


def _of_run(
    folder: Path,
    below: PurePosixPath,
    known: Mapping[PurePosixPath, Identity],
    record_name: str = record.FILE_NAME,
) -> Holdings:
    """Return the content of the folder of a run, by its record; names are below `below`."""
    result = Holdings()
    listed = _listed(_record(folder / record_name) or {})
    written_ns = (folder / record_name).lstat().st_mtime_ns
    doubtful: dict[str, Content] = {}
    for name, facts in _entries(folder):
        path = below / name
        if name == record_name:
            result.owned[path] = identity(facts)
            continue
        if name not in listed:
            _judge(folder / name, path, facts, result)
            continue
        content = _content(folder / name, path, facts)
        size_bytes = sum(entry.size_bytes for entry in content.values() if entry.is_file)
        if not all(entry.is_file or entry.is_folder for entry in content.values()):
            result.foreign.append(f"{path} has links or pipes in it")
        elif size_bytes != listed[name].get("bytes"):
            result.foreign.append(f"{path} has changed since the run")
        else:
            result.owned |= content
            if not content.items() <= known.items() and _is_doubtful(content, written_ns):
                doubtful[name] = content
    if doubtful and not result.foreign:
        _check_hashes(folder, listed, doubtful, result)
    return result


def _is_doubtful(content: Content, written_ns: int) -> bool:
    """Whether bytes decide if content has changed: it is small, or younger than its record."""
    files = [entry for entry in content.values() if entry.is_file]
    is_small = sum(entry.size_bytes for entry in files) <= HASHED_BYTES
    return is_small or any(max(entry.modified_ns, entry.changed_ns) > written_ns for entry in files)


def _check_hashes(
    folder: Path, listed: Mapping[str, Mapping[str, object]], doubtful: dict[str, Content],
    result: Holdings,
) -> None:  # fmt: skip
    """Compare the checksums of content with those of the record."""
    apart = [name for name, _ in _entries(folder) if name not in doubtful]
    rows = json.loads(native_module().answer_checksums(folder, apart, cores_usable()))
    hashes = {row["name"]: row["blake3"] for row in rows}
    for name, content in doubtful.items():
        if hashes.get(name) != listed[name].get("blake3"):
            (path, *_) = content
            result.foreign.append(f"{path} has changed since the run")
            for inner in content:
                del result.owned[inner]


def _judge(place: Path, path: PurePosixPath, facts: os.stat_result, result: Holdings) -> None:
    """Classify content that no record lists: owned with a mark of Cuesta, else foreign."""
    from cuesta import generated

    if stat.S_ISREG(facts.st_mode) and generated.is_generated(place):
        result.owned[path] = identity(facts)
    else:
        result.foreign.append(f"{path} is not of the answer")


def _content(place: Path, path: PurePosixPath, facts: os.stat_result) -> Content:
    """Return the content at a name: a file, or a folder and its content."""
    content = {path: identity(facts)}
    if stat.S_ISDIR(facts.st_mode):
        for name, inner in _entries(place):
            content |= _content(place / name, path / name, inner)
    return content


def _entries(folder: Path) -> list[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)


def _has_record(folder: Path) -> bool:
    return _record(folder / record.FILE_NAME) is not None


def _record(file: Path) -> dict[str, object] | None:
    """Return a record of Cuesta's, of any version of its schema; None for any other file."""
    try:
        facts = file.lstat()
        if not stat.S_ISREG(facts.st_mode):
            return None
        result = untrusted.read_json(file)
    except (OSError, ValueError, RecursionError):
        return None
    schema = result.get("schema") if isinstance(result, dict) else None
    is_ours = isinstance(schema, str) and schema.startswith(_SCHEMAS[file.name])
    return result if is_ours else None


def _listed(result: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the files that a record of a run lists, by name; none that is not a plain name."""
    answer = result.get("answer")
    rows = answer.get("files") if isinstance(answer, dict) else None
    names = {}
    for row in rows if isinstance(rows, list) else []:
        name = row.get("name") if isinstance(row, dict) else None
        if isinstance(name, str) and _is_plain(name):
            names[name] = row
    return names


def _engines(result: Mapping[str, object]) -> set[str]:
    """Return the folders of the runs that a comparison lists."""
    records = result.get("records")
    places = records.values() if isinstance(records, dict) else ()
    parents = {os.path.dirname(place) for place in places if isinstance(place, str)}  # noqa: PTH120
    return {name for name in parents if _is_plain(name)}


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _first(names: Iterable[str]) -> str:
    """Format the first name, printable, and the number of the rest."""
    first, *more = names
    text = first if first.isprintable() else first.encode("unicode_escape").decode()
    return f"{text} (and {len(more)} more)" if more else text
