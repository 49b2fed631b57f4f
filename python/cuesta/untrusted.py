"""Handles words of others, such as those of a record: names of files, and text."""

from __future__ import annotations

import re
from pathlib import Path

from cuesta.errors import InputError

_STYLES = r"\x1b\[(?:0|1|2|31|32)m"
"""Sequences with which `cuesta` itself makes words bold, dim, red or green."""
_UNSEEN = re.compile(
    rf"({_STYLES})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Control characters but tabs and line feeds, and those that turn the direction of text."""


def within(folder: Path, name: str) -> Path:
    """The place called `name` in a folder. Errors: `InputError` where it leads out of that."""
    path = folder / name
    try:
        leads_out = not path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        leads_out = True
    if leads_out or Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"{folder}: its record names {name!r}, which is not in its folder")
    return path


def harmless(text: str) -> str:
    """Text for a terminal, with a question mark for what would move, erase or rename there."""
    return _UNSEEN.sub(lambda found: found[1] or "?", text)
