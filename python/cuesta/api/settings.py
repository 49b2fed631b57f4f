"""Settings of files and of the environment as values of options that nobody typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from cuesta.api.declared import Option
from cuesta.config.layers import Chosen, effective
from cuesta.errors import InputError


class Filled(NamedTuple):
    """Values of all options, and the settings among them.

    Attributes
    ----------
    settings
        The settings that are in effect.
    engine_options
        By engine, the options that settings give it.
    """

    values: Mapping[str, Any]
    settings: tuple[Chosen, ...]
    engine_options: Mapping[str, Mapping[str, str]]


def filled(values: Mapping[str, Any], options: Sequence[Option]) -> Filled:
    """Return `values` where options that nobody typed have their setting, else their default.

    Errors: `InputError` for a setting that is wrong.
    """
    chosen = effective("run", "compare", "engine")
    result, settings = dict(values), []
    for option in options:
        if not option.setting or result.get(option.name) is not None:
            continue
        setting = chosen.get(option.setting)
        result[option.name] = option.default if setting is None else option.kind(setting.value)
        if setting is not None:
            settings.append(setting)
    engines = [name.strip() for name in str(result["engines"]).split(",")]
    typed = _typed_options(result)
    by_engine: dict[str, dict[str, str]] = {}
    for setting in chosen.values():
        group, engine, option_name = [*setting.name.split(".", 2), "", ""][:3]
        if group == "engine" and engine in engines and option_name not in typed:
            by_engine.setdefault(engine, {})[option_name] = setting.value
            settings.append(setting)
    return Filled(values=result, settings=tuple(settings), engine_options=by_engine)


def _typed_options(values: Mapping[str, Any]) -> set[str]:
    """Names of the options of engines that somebody typed."""
    pairs = values.get("engine_option") or []
    flags = ("master", "ranks", "kernels")
    return {pair.partition("=")[0] for pair in pairs} | {
        name for name in flags if values.get(name) is not None
    }


@contextmanager
def naming(settings: Sequence[Chosen]) -> Iterator[None]:
    """Errors raised in this context that name an option end with the file that set it."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for setting in settings:
            word = f"--{setting.name.rpartition('.')[2]}"
            if f"{word} " in message or f"{word}:" in message:
                error.args = (f"{message} ({setting.name} is set by {setting.source})",)
                break
        raise
