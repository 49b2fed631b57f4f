"""Settings that there are, the kinds of their values, and what a project file may set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuesta import safe_options
from cuesta.errors import InputError

RUN, COMPARE, ENGINE, CLUSTER = "run", "compare", "engine", "cluster"
TABLES = (RUN, COMPARE, ENGINE, CLUSTER)
"""Tables of a file."""
ENGINES = ("native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array")
"""Engines with a table of options `[engine.NAME]`; a test holds it to `cuesta.engines`."""
SETS = "cluster.set"
"""Table of settings of `cuesta cluster --set`."""

_COUNT = r"[0-9]{1,9}"
_SIZE = r"[0-9]{1,15}(\.[0-9]{1,6})? ?[kmgtKMGT]?[iI]?[bB]?"
_TIME = r"[0-9]{1,6}(\.[0-9]{1,3})?(:[0-9]{1,2}){0,2}"
_WORDS = r"[a-z]{1,20}([ ,]+[a-z-]{1,20}){0,10}"
_WANTED: Mapping[str, str] = {
    _COUNT: "a whole number from 1 to 999,999,999",
    _SIZE: "a size such as 8GiB or 500MB",
    _TIME: "a time such as 2:00:00",
    _WORDS: "names separated by commas",
}
"""Descriptions of forms that cover all useful values, so that any other value is a mistake."""
_SHOWN_CHARACTERS_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting with a fixed name.

    Attributes
    ----------
    kind
        Type of its value: int or str.
    form
        Regular expression of the values that a project file may give it; empty where a project
        file may not set it. `WITHIN` stands for a folder below the file.
    """

    kind: type = str
    form: str = ""


WITHIN = "within"
_PLACES = frozenset(("run.scratch", "cluster.scratch", "cluster.under"))
"""Settings whose values are folders; a relative one counts from the folder of its file."""

SETTINGS: Mapping[str, Setting] = {
    "run.engine": Setting(form="|".join(ENGINES)),
    "run.threads": Setting(kind=int, form=_COUNT),
    "run.memory": Setting(form=_SIZE),
    "run.scratch": Setting(form=WITHIN),
    "run.repeat": Setting(kind=int, form=_COUNT),
    "run.verify": Setting(form="full"),
    "compare.engines": Setting(form=_WORDS),
    "cluster.nodes": Setting(kind=int, form=_COUNT),
    "cluster.time": Setting(form=_TIME),
    "cluster.scheduler": Setting(),
    "cluster.hosts": Setting(),
    "cluster.start": Setting(),
    "cluster.queue": Setting(),
    "cluster.account": Setting(),
    "cluster.with": Setting(form=_WORDS),
    "cluster.store": Setting(form=_SIZE),
    "cluster.under": Setting(),
    "cluster.cores": Setting(kind=int, form=_COUNT),
    "cluster.memory": Setting(form=_SIZE),
    "cluster.interface": Setting(),
    "cluster.scratch": Setting(),
    "cluster.preset": Setting(form="[a-z]{1,20}"),
}
"""By name: options of `run` (and `compare`), and of `cluster plan`, `up` and `submit`."""


def variable(name: str) -> str:
    """Return the variable of the environment of a setting."""
    return f"CUESTA_{name.upper().replace('.', '_').replace('-', '_')}"


def by_variable() -> dict[str, str]:
    """Return the names of the settings by their variables."""
    return {variable(name): name for name in SETTINGS}


def is_place(name: str) -> bool:
    """Whether the value of a setting is a folder."""
    return name in _PLACES


def flattened(table: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the values of a file by name, checked to be known and of the right kind.

    Names of options of an engine may have dots, quoted or not. Errors: `InputError` naming the
    setting, the source and the nearest name.
    """
    values: dict[str, Any] = {}
    for group, members in table.items():
        if group not in TABLES:
            raise _unknown(group, source, TABLES)
        if not isinstance(members, Mapping):
            raise InputError(f"{source}: {group} is a value; write a table [{group}]")
        for key, value in members.items():
            name = f"{group}.{key}"
            if group == ENGINE:
                if key not in ENGINES:
                    raise _unknown(name, source, [f"{ENGINE}.{engine}" for engine in ENGINES])
                values |= _open_table(name, value, source)
            elif name == SETS:
                values |= _open_table(name, value, source)
            else:
                values[name] = checked(name, value, source)
    return values


def checked(name: str, value: object, source: str) -> Any:
    """Return the value of a setting in its kind; text is read as a variable holds it.

    Errors: `InputError` naming the setting and the source.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        group = name.partition(".")[0]
        near = [known for known in SETTINGS if known.startswith(f"{group}.")]
        raise _unknown(name, source, near)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return ",".join(value)
    if setting.kind is int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise InputError(f"{source}: {name} is {_shown(value)}, give a whole number")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # Minutes, or bytes.
    if not isinstance(value, str):
        raise InputError(f"{source}: {name} is {_shown(value)}, give text in quotes")
    return value


def check_forms(values: Mapping[str, Any], source: str) -> None:
    """Refuse values of a project file that are mistakes, such as an empty size.

    Errors: `InputError` naming the setting and the source.
    """
    for name, value in values.items():
        form = SETTINGS[name].form if name in SETTINGS else ""
        if form and (value == "" or (form in _WANTED and not re.fullmatch(form, str(value)))):
            wanted = _WANTED.get(form, "a value")
            raise InputError(
                f"{source}: {name} is {_shown(value)}, give {wanted}, or remove the line"
            )


def _shown(value: object) -> str:
    """Return a value as a file of settings has it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str | list | dict) else str(value)
    is_long = len(text) > _SHOWN_CHARACTERS_MAX
    return f"{text[:_SHOWN_CHARACTERS_MAX]}..." if is_long else text


def refused(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of values that a project file may not set, whatever they are."""
    for name, value in values.items():
        setting = SETTINGS.get(name)
        if setting is None:
            option = option_name(name)
            if option is not None and any(safe_options.unsafe({option: value})):
                yield name
        elif setting.form != WITHIN and not (
            setting.form and re.fullmatch(setting.form, str(value))
        ):
            yield name


def option_name(name: str) -> str | None:
    """Return the name of the option in a name such as `engine.spark.OPTION`, else None."""
    if name.startswith(f"{SETS}."):
        return name.removeprefix(f"{SETS}.")
    group, _, rest = name.partition(".")
    return rest.partition(".")[2] if group == ENGINE else None


def _open_table(name: str, table: object, source: str) -> dict[str, str]:
    """Options by name, of a table whose names are those of an engine's or of Spark's settings."""
    if not isinstance(table, Mapping):
        raise InputError(f"{source}: {name} is a value; write a table [{name}]")
    values: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            values |= _open_table(f"{name}.{key}", value, source)
        elif isinstance(value, bool):
            values[f"{name}.{key}"] = str(value).lower()
        elif isinstance(value, str | int | float):
            values[f"{name}.{key}"] = str(value)
        else:
            raise InputError(f"{source}: {name}.{key} is no text and no number; give one of them")
    return values


def _unknown(name: str, source: str, known: object) -> InputError:
    import difflib

    words = list(known)  # type: ignore[call-overload]
    near = difflib.get_close_matches(name, words, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"there is {', '.join(words)}"
    return InputError(f"{source}: {name} is no setting; {remedy}")
