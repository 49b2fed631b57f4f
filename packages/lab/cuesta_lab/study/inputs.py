"""Inputs of a study, each made once."""

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
from cuesta.errors import InputError, in_words
from cuesta.lab.child import run_in_child
from cuesta.lab.observer import Observer
from cuesta.machine import expanded
from cuesta.untrusted import read_json, read_text
from cuesta.uris import copy
from cuesta_lab.study.commands import COMMAND, check_input_command
from cuesta_lab.study.model import REMOTE, Key, Study, StudyInput
from cuesta_lab.study.programs import make_input, script_digests

FOLDER = "inputs"
"""Folder of the inputs that a study made, in the study's folder."""
UNFINISHED = '{"schema": "cuesta.study-input/1", "unfinished": true}'
"""Content of the file next to an input until the input is complete."""


def prepare(
    study: Study,
    wanted: Mapping[Key, StudyInput],
    output: Path,
    places: Mapping[str, str],
    observer: Observer,
) -> dict[Key, tuple[str, str]]:
    """Make the inputs of a study; return the path and the description of each.

    Inputs that an earlier run made from the same description are reused. `places` are URIs or
    folders by the name of a place. Errors: `InputError`.
    """
    folder = output.absolute() / FOLDER
    paths = {}
    for (name, place), study_input in wanted.items():
        made_from = _made_from(study_input, study.here)
        path = _path(study_input, folder / name, made_from, observer, study.here)
        at = place or study_input.at
        if at:
            path = _put(study_input, path, (at, places), observer)
            made_from += path
        paths[name, place] = (path, made_from)
    return paths


def _make_room(target: Path, description: Path) -> None:
    """Remove an input that an earlier run made from another description, or did not complete.

    The description file next to it proves that a study made it. Errors: `InputError` without one.
    """
    if os.path.lexists(target):
        if not _is_description(description):
            raise InputError(f"{target} is not an input that a study made; move it away")
        try:
            if target.is_dir() and not target.is_symlink():
                removal.remove_made(target)
            else:
                target.unlink()
        except OSError as error:
            raise InputError(f"{error.filename}: {in_words(error)}") from None
    elif os.path.lexists(description) and not _is_description(description):
        raise InputError(f"{description} is not of this study; move it away")
    description.write_text(UNFINISHED, encoding="utf-8")


def _is_description(description: Path) -> bool:
    """Whether a study wrote this description of an input."""
    try:
        facts = read_json(description)
    except (OSError, ValueError):
        return False
    names = {field.name for field in fields(StudyInput)}
    return isinstance(facts, dict) and (facts == json.loads(UNFINISHED) or names <= facts.keys())


def _put(
    study_input: StudyInput, path: str, at: tuple[str, Mapping[str, str]], observer: Observer
) -> str:
    """Copy an input to its place and return its path there."""
    place, places = at
    if place not in places:
        named = "" if place == REMOTE else f"{place}="
        raise InputError(
            f"input {study_input.name} is to lie apart; say where by --remote {named}URI"
        )
    target = f"{places[place].rstrip('/')}/{study_input.name}"
    observer.note(f"copying input {study_input.name} to {target}")
    copying = partial(copy, Path(path), target, study_input.block_bytes)
    run_in_child(f"copying input {study_input.name}", copying)
    return target


def _made_from(study_input: StudyInput, here: Path) -> str:
    """Describe an input, and the scripts of the command that writes it."""
    facts = asdict(study_input)
    if study_input.kind == COMMAND:
        facts["scripts"] = script_digests([check_input_command(study_input.source)], here)
    return json.dumps(facts, sort_keys=True, default=str)


def _path(
    study_input: StudyInput, target: Path, made_from: str, observer: Observer, here: Path
) -> str:
    """Return the path of an input, which is made at `target` if necessary."""
    if study_input.kind == "uri":
        return study_input.source
    if study_input.kind == "path":
        path = expanded(study_input.source).absolute()
        if not path.exists():
            raise InputError(
                f"input {study_input.name}: {path}: no such file or folder; check the path"
            )
        return str(path)
    if study_input.kind == "get":
        return str(get(study_input.source)[0])
    description = target.with_name(f"{study_input.name}.json")
    if not description.exists() or read_text(description) != made_from:
        observer.note(f"making input {study_input.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        _make_room(target, description)
        if study_input.kind == COMMAND:
            make_input(study_input, target, here)
            description.write_text(made_from, encoding="utf-8")
            return str(target)
        kind = next(kind for kind in KINDS if kind.name == study_input.source)
        options = {option.name: option.default for option in kind.options} | dict(
            study_input.options
        )
        make(kind, options, target)
        description.write_text(made_from, encoding="utf-8")
    return str(target)
