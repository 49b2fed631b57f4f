"""Handles text and file names that others wrote, such as those of a record."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import InputError, in_words

TEXT_BYTES_MAX = 1 << 30
"""Largest file that is read as text; a record of a large study has some MiB."""
_STYLES = r"\x1b\[(?:0|1|2|31|32)m"
"""Sequences with which `cuesta` itself makes words bold, dim, red or green."""
_UNSEEN = re.compile(
    rf"({_STYLES})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Control characters but tabs and line feeds, and those that turn the direction of text."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character in JSON, which may be alone."""


def within(folder: Path, name: str) -> Path:
    """The place called `name` in a folder. Errors: `InputError` where it leads out of that."""
    path = folder / name
    try:
        leads_out = not path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        leads_out = True
    if leads_out or Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(
            f"{folder}: its record names {name!r}, which is not in its folder; trust none of it"
        )
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"{path}: is neither a file nor a folder; an answer has nothing else")
    return path


def read_text(file: Path) -> str:
    """Return the text of a regular file that others may have written.

    Errors: `OSError` as `open_regular`, also for a huge file; `ValueError` where it is not in
    UTF-8.
    """
    with open_regular(file) as opened:
        if os.fstat(opened.fileno()).st_size > TEXT_BYTES_MAX:
            raise OSError(errno.ENXIO, "larger than a text of 1 GiB", str(file))
        return io.TextIOWrapper(opened, encoding="utf-8").read()


def open_regular(file: Path) -> io.BufferedReader:
    """Open a regular file that others may have written.

    A pipe or a device is opened without reading from it, so that no read waits or never ends.
    Errors: `OSError`, also where it is no regular file.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not stat.S_ISREG(mode):
            raise OSError(errno.ENXIO, "not a regular file", str(file))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_json(file: Path) -> Any:
    """Return the JSON value of a regular file that others may have written.

    Errors: `OSError` as `read_text`; `ValueError` and `RecursionError` where the text is no JSON,
    or holds half of a character (a lone surrogate), which no page and no terminal can show.
    """
    import json

    text = read_text(file)
    value = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def read_record(file: Path, kind: str, schema: str) -> dict[str, Any]:
    """Return a record of a schema; `kind` names what it records, as in "run record".

    Errors: `InputError` naming the file and what is wrong with it.
    """
    try:
        record = read_json(file)
    except OSError as error:
        raise InputError(f"{file}: no {kind} ({in_words(error)})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not a {kind} ({error}); name one, or obtain it again") from None
    if not isinstance(record, dict) or record.get("schema") != schema:
        raise InputError(
            f"{file}: not a {kind} of schema {schema}; make it again with this version"
        )
    return record


def check_kinds(folder: Path) -> None:
    """Refuse links, pipes and devices at any depth of a folder that others may have filled.

    Errors: `InputError` naming the first; `OSError`.
    """
    for path, facts in _below(folder):
        if not stat.S_ISREG(facts.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(facts.st_mode) else "a pipe, socket or device"
            raise InputError(f"{path}: is {kind}; an answer has regular files and folders only")


def _below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything below a folder but the folders."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _below(folder / entry.name)
            else:
                yield folder / entry.name, entry.stat(follow_symlinks=False)


def is_plain(text: str) -> bool:
    """Whether a text has no line breaks, no control characters and no bytes outside UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in text and not _UNSEEN.search(text)


def check_name(path: Path | str, option: str = "-o") -> None:
    """Refuse a name that no terminal and no record can show. Errors: `InputError`."""
    if not is_plain(str(path)):
        raise InputError(
            f"{option} {str(path)!a}: the name has a line break, a control character or bytes that "
            f"are not UTF-8; give another {option}"
        )


def single_line(text: object) -> str:
    """Text for a line of output, such as a name: no break of a line, and no style, is in it."""
    return _UNSEEN.sub("?", str(text).replace("\n", "?"))


def harmless(text: str) -> str:
    """Text for a terminal, with a question mark for what would move, erase or rename there."""
    return _UNSEEN.sub(lambda found: found[1] or "?", text)
