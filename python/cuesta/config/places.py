"""Places of the files `cuesta.toml`, strongest first."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cuesta import machine
from cuesta.errors import InputError, in_words

FILE_NAME = "cuesta.toml"
SITE_VARIABLE = "CUESTA_SITE_CONFIG"
"""Variable with the file of a site, which a module of the site may set."""
SWITCH_VARIABLE = "CUESTA_CONFIG"
"""Variable that, as `none`, has all files ignored."""

PROJECT, USER, SITE = "project", "user", "site"
_DIRS = "/etc/xdg"


class Place(NamedTuple):
    """A file of settings that exists.

    Attributes
    ----------
    kind
        `PROJECT`, `USER` or `SITE`.
    passed_over
        Reason for which the file is not read; empty where it is.
    """

    kind: str
    file: str
    passed_over: str = ""


def existing(environment: Mapping[str, str] = os.environ) -> list[Place]:
    """Return the files that exist, strongest first.

    Errors: `InputError` for a variable that has another value than it may have.
    """
    switch = environment.get(SWITCH_VARIABLE)
    if switch == "none":
        return []
    if switch:
        raise InputError(
            f"environment: {SWITCH_VARIABLE} is {switch!r}; set it to none to ignore all files of "
            "settings, or unset it"
        )
    site = environment.get(SITE_VARIABLE)
    if site and not os.path.exists(site):  # noqa: PTH110
        raise InputError(
            f"environment: {SITE_VARIABLE} names {site}, which does not exist; correct or unset it"
        )
    named = [(USER, user_file(environment)), *((SITE, file) for file in site_files(environment))]
    present = ((kind, file) for kind, file in named if os.path.exists(file))  # noqa: PTH110
    places = [Place(kind=kind, file=file) for kind, file in present]
    project = _project({place.file for place in places})
    return [project, *places] if project else places


def user_file(environment: Mapping[str, str] = os.environ) -> str:
    """Return the place of the user's file."""
    base = environment.get("XDG_CONFIG_HOME") or f"{machine.home()}/.config"
    return f"{base}/cuesta/{FILE_NAME}"


def site_files(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield the places of the site's files, strongest first."""
    named = environment.get(SITE_VARIABLE)
    if named:
        yield named
    for folder in (environment.get("XDG_CONFIG_DIRS") or _DIRS).split(":"):
        if folder:
            yield f"{folder}/cuesta/{FILE_NAME}"


def _project(listed: set[str]) -> Place | None:
    """The nearest file in the working folder or above it that is not in `listed`."""
    try:
        folder = os.getcwd()  # noqa: PTH109
    except OSError:
        return None
    while True:
        file = os.path.join(folder, FILE_NAME)  # noqa: PTH118
        if os.path.lexists(file) and file not in listed:
            return Place(kind=PROJECT, file=file, passed_over=_reason(Path(file)))
        parent = os.path.dirname(folder)  # noqa: PTH120
        if parent == folder:
            return None
        folder = parent


def _reason(file: Path) -> str:
    """Why a project file is passed over; empty where it is not.

    In a folder that all accounts may write, such as `/tmp`, a stranger's file would change the
    commands of everybody below it.
    """
    try:
        owner, folder = file.lstat().st_uid, file.parent.stat()
    except OSError as error:
        return in_words(error)
    if folder.st_mode & stat.S_IWOTH and owner not in (os.geteuid(), 0):
        return "another account put it into a folder that all may write"
    return ""
