"""Layers of settings: files and the environment, read and put in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cuesta import private, untrusted
from cuesta.config import places
from cuesta.config.places import PROJECT, Place
from cuesta.errors import InputError

ENVIRONMENT = "environment"
FILE_BYTES_MAX = 1 << 20
"""Largest file of settings that is read."""
_PREFIXES = ("CUESTA_RUN_", "CUESTA_COMPARE_", "CUESTA_CLUSTER_")
_EXEMPT = frozenset(("CUESTA_CLUSTER_TIMES",))
"""Variables with these prefixes that are no settings."""


class Layer(NamedTuple):
    """Settings of one source.

    Attributes
    ----------
    kind
        `environment`, `project`, `user` or `site`.
    source
        The file; empty for the environment.
    values
        Checked values by name, such as `run.threads`.
    """

    kind: str
    source: str
    values: Mapping[str, Any]


class Chosen(NamedTuple):
    """The value of a setting that wins, and where it comes from."""

    name: str
    value: Any
    kind: str
    source: str

    def record(self) -> dict[str, Any]:
        """Return the setting as an object of a run record."""
        value = HIDDEN if is_secret(self.name) else self.value
        return {"name": self.name, "value": value, "kind": self.kind, "source": self.source}


HIDDEN = "(not shown)"
_SECRETS = ("secret", "password", "token", "credential", "access.key", "access-key")


def is_secret(name: str) -> bool:
    """Whether the value of an option is to stay out of records and pages, by its name."""
    return any(word in name.lower() for word in _SECRETS)


def effective(*groups: str) -> dict[str, Chosen]:
    """Return the settings of some tables that a file or the environment sets, by name.

    Errors: `InputError` naming the file or the variable, the setting, and the remedy.
    """
    chosen: dict[str, Chosen] = {}
    for layer in layers():
        for name, value in layer.values.items():
            if name.partition(".")[0] in groups and name not in chosen:
                source = layer.source or _variable(name)
                chosen[name] = Chosen(name=name, value=value, kind=layer.kind, source=source)
    return chosen


def layers(environment: Mapping[str, str] = os.environ) -> list[Layer]:
    """Return all layers, strongest first. Errors: as `effective`."""
    files = [read(place) for place in places.existing(environment) if not place.passed_over]
    variables = _environment(environment)
    return [variables, *files] if variables else files


def _environment(environment: Mapping[str, str]) -> Layer | None:
    """The layer of the variables, None without one."""
    variables = [name for name in environment if name.startswith(_PREFIXES) and name not in _EXEMPT]
    if not variables:
        return None
    from cuesta.config import known

    names = known.by_variable()
    values: dict[str, Any] = {}
    for variable in sorted(variables):
        name = names.get(variable)
        if name is None:
            import difflib

            near = difflib.get_close_matches(variable, names, n=1)
            remedy = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"environment: {variable} is no setting; {remedy}unset {variable}")
        if environment[variable]:
            values[name] = known.checked(name, environment[variable], variable)
    return Layer(kind=ENVIRONMENT, source="", values=values)


def _variable(name: str) -> str:
    from cuesta.config import known

    return known.variable(name)


def read(place: Place) -> Layer:
    """Read a file of settings. Errors: `InputError`."""
    import tomllib

    from cuesta.config import known

    file = Path(place.file)
    try:
        if file.stat().st_size > FILE_BYTES_MAX:
            raise InputError(f"{file}: is larger than 1 MiB; a file of settings has a few lines")
        table = tomllib.loads(untrusted.read_text(file))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{file}: {reason}, so its settings cannot be read; move it away, or set "
            f"{places.SWITCH_VARIABLE}=none"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no TOML: {error}; mend it, or move it away") from None
    values = known.flattened(table, place.file)
    is_ours = place.kind != PROJECT and private.is_trusted(file)
    if not is_ours:
        known.check_forms(values, place.file)
        _refuse(place, known.refused(values))
    for name in filter(known.is_place, values):
        values[name] = _folder(file, values[name], name, within=not is_ours)
    return Layer(kind=place.kind, source=place.file, values=values)


def _refuse(place: Place, names: Iterator[str]) -> None:
    """Errors: `InputError` for the first of the names that the file may not set."""
    name = next(names, None)
    if name is None:
        return
    if place.kind == PROJECT:
        why = "a project file may come from a stranger, and this could name code, a host or a cost"
        where = f"set it in {places.user_file()}, or on the command line"
    else:
        why = "another account can write this file, and this could name code, a host or a cost"
        where = f"chmod go-w {place.file} and its folders, or set it on the command line"
    raise InputError(f"{place.file}: may not set {name} to such a value: {why}; {where}")


def _folder(file: Path, text: str, name: str, *, within: bool) -> str:
    """The folder that a file names, from the folder of the file on. Errors: `InputError`."""
    if not within:
        from cuesta import machine

        return str(file.parent / machine.expanded(text))
    folder = file.parent / text
    if Path(text).is_absolute() or not folder.resolve().is_relative_to(file.parent.resolve()):
        raise InputError(
            f"{file}: {name} is {text!r}, which is not below this file; a project file may come "
            f"from a stranger: set it in {places.user_file()}, or on the command line"
        )
    return str(folder)
