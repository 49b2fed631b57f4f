"""Options as they are typed: none twice that takes a single value, and numbers in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.api.options import THREADS_MAX
from cuesta.errors import InputError
from cuesta.workloads import WORKLOAD_NAMES, get_workload

_KINDS: dict[type, str] = {int: "a whole number", float: "a number"}
_COUNTS = {
    "threads": f"a whole number from 1 to {THREADS_MAX}",
    "repeat": "a whole number of at least 1",
    "ranks": "a whole number of at least 1",
}
"""Ranges of options that all workloads share."""


def check_single(command: Any, words: Sequence[str]) -> None:
    """Check that no option of a command with a single value is typed twice: the last would win.

    Subcommands are checked by their own options. Errors: `InputError` naming the option.
    """
    options = _options(command)
    typed: set[str] = set()
    for place, word in enumerate(words):
        if word == "--":
            return
        subcommand = getattr(command, "commands", {}).get(word)
        if subcommand is not None:
            check_single(subcommand, words[place + 1 :])
            return
        option = _option_of(word, options)
        if option is None or option.multiple or option.is_flag or option.count:
            continue
        if option.name in typed:
            raise InputError(
                f"{'/'.join(option.opts)} is given twice, and takes a single value; leave one out"
            )
        typed.add(option.name)


def number_text(error: Any, words: Sequence[str]) -> str | None:
    """Return the message on an option whose value is no number; None for any other error."""
    option: Any = getattr(error, "param", None)
    descriptor = getattr(option, "type_descriptor", None)
    kind = _KINDS.get(getattr(descriptor, "annotation", object))
    if kind is None:
        return None
    options = dict.fromkeys(option.opts, option)
    values = [
        _value(word, after, options)
        for word, after in zip(words, [*words[1:], ""], strict=True)
        if _option_of(word, options) is not None
    ]
    if not values:
        return None
    value = values[-1]
    has_comma = kind == _KINDS[float] and _is_number(value.replace(",", ".", 1))
    point = ", with a decimal point" if has_comma else ""
    return f"{option.opts[-1]} is {value}, give {_range(error.ctx, option) or kind}{point}"


def _options(command: Any) -> dict[str, Any]:
    return {
        word: parameter
        for parameter in command.params
        if hasattr(parameter, "is_flag")
        for word in (*parameter.opts, *parameter.secondary_opts)
    }


def _option_of(word: str, options: Mapping[str, Any]) -> Any:
    """Return the option of a word: `--name`, `--name=value`, `-n` or `-nvalue`."""
    option = options.get(word.partition("=")[0])
    if option is None and word[:1] == "-" and word[:2] != "--":
        option = options.get(word[:2])
    return option


def _value(word: str, after: str, options: Mapping[str, Any]) -> str:
    name, equals, value = word.partition("=")
    if equals and name.startswith("--"):
        return value
    return after if word in options else word[2:]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _range(context: Any, option: Any) -> str | None:
    """Return the values of an option in words; None where its kind alone is known."""
    if context is not None and context.command.name in WORKLOAD_NAMES:
        name = str(option.name).removeprefix("parameter_")
        for parameter in get_workload(context.command.name).parameters:
            if parameter.name == name and name != option.name:
                return parameter.range
    return _COUNTS.get(str(option.name))
