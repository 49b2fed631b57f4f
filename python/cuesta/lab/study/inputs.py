"""Makes the inputs of a study, each once, and says where they are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path

from cuesta import removal
from cuesta.data import get
from cuesta.data.make import KINDS, make
from cuesta.errors import InputError
from cuesta.lab.child import run_in_child
from cuesta.lab.observer import Observer
from cuesta.lab.study.model import REMOTE, Key, StudyInput
from cuesta.machine import expanded
from cuesta.uris import copy

FOLDER = "inputs"
"""Of the inputs that a study has made, in its own folder."""
UNFINISHED = '{"schema": "cuesta.study-input/1", "unfinished": true}'
"""In the file beside an input until that is complete."""


def prepare(
    wanted: Mapping[Key, StudyInput], output: Path, places: Mapping[str, str], observer: Observer
) -> dict[Key, tuple[str, str]]:
    """Where each input is, and what it was made from.

    What an earlier run has made from the same is kept. `places` are URIs or folders by the name of
    a place. Errors: `InputError`.
    """
    folder = output.absolute() / FOLDER
    found = {}
    for (name, place), one in wanted.items():
        made_from = json.dumps(asdict(one), sort_keys=True, default=str)
        path = _path(one, folder, made_from, observer)
        at = place or one.at
        if at:
            path = _put(one, path, (at, places), observer)
            made_from += path
        found[name, place] = (path, made_from)
    return found


def _make_room(target: Path, word: Path) -> None:
    """Remove an input that an earlier run made from something else, or did not complete.

    The file beside it says that a study made it. Errors: `InputError` where it does not.
    """
    if os.path.lexists(target):
        if not _is_word(word):
            raise InputError(f"{target} is not an input that a study made; move it away")
        try:
            if target.is_dir() and not target.is_symlink():
                removal.remove_made(target)
            else:
                target.unlink()
        except OSError as error:
            raise InputError(f"{error.filename}: {(error.strerror or '').lower()}") from None
    elif os.path.lexists(word) and not _is_word(word):
        raise InputError(f"{word} is not of this study; move it away")
    word.write_text(UNFINISHED, encoding="utf-8")


def _is_word(word: Path) -> bool:
    """Whether a study wrote this file about an input of its own."""
    try:
        facts = json.loads(word.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    names = {field.name for field in fields(StudyInput)}
    return isinstance(facts, dict) and (facts == json.loads(UNFINISHED) or names <= facts.keys())


def _put(one: StudyInput, path: str, at: tuple[str, Mapping[str, str]], observer: Observer) -> str:
    """Where an input is once it was copied to its place."""
    place, places = at
    if place not in places:
        named = "" if place == REMOTE else f"{place}="
        raise InputError(f"input {one.name} is to lie apart; say where by --remote {named}URI")
    target = f"{places[place].rstrip('/')}/{one.name}"
    observer.note(f"copying input {one.name} to {target}")
    copying = partial(copy, Path(path), target, one.block_bytes)
    run_in_child(f"copying input {one.name}", copying)
    return target


def _path(one: StudyInput, folder: Path, made_from: str, observer: Observer) -> str:
    """Where an input is, made if need be."""
    if one.kind == "uri":
        return one.source
    if one.kind == "path":
        path = expanded(one.source).absolute()
        if not path.exists():
            raise InputError(f"input {one.name}: {path}: no such file or folder")
        return str(path)
    if one.kind == "get":
        return str(get(one.source)[0])
    target = folder / one.name
    told = folder / f"{one.name}.json"
    if not told.exists() or told.read_text(encoding="utf-8") != made_from:
        observer.note(f"making input {one.name}")
        folder.mkdir(parents=True, exist_ok=True)
        _make_room(target, told)
        kind = next(kind for kind in KINDS if kind.name == one.source)
        options = {option.name: option.default for option in kind.options} | dict(one.options)
        make(kind, options, target)
        told.write_text(made_from, encoding="utf-8")
    return str(target)
