"""Options as they are typed: those given twice, and numbers in words."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.api.options import THREADS_MAX
from cuesta.untrusted import single_line
from cuesta.workloads import WORKLOAD_NAMES, get_workload

QUIET = frozenset({"-q", "--quiet"})
"""Options that leave remarks out."""
_KINDS: dict[type, str] = {int: "a whole number", float: "a number"}
_COUNTS = {
    "threads": f"a whole number from 1 to {THREADS_MAX}",
    "repeat": "a whole number of at least 1",
    "ranks": "a whole number of at least 1",
}
"""Ranges of options that all workloads share."""


def remark_repeated(command: Any, words: Sequence[str]) -> None:
    """Remark options of a command that take a single value and are typed twice: the last counts.

    Scripts do that to change a default of theirs. Subcommands are checked by their own options.
    """
    if QUIET & set(words):
        return
    options = _options(command)
    values: dict[str, str] = {}
    for place, word in enumerate(words):
        if word == "--":
            return
        subcommand = getattr(command, "commands", {}).get(word)
        if subcommand is not None:
            remark_repeated(subcommand, words[place + 1 :])
            return
        option = _option_of(word, options)
        if option is None or option.multiple or option.is_flag or option.count:
            continue
        value = _value(word, next(iter(words[place + 1 :]), ""), options)
        earlier = values.get(option.name, value)
        values[option.name] = value
        if earlier != value:
            name = "/".join(option.opts)
            line = f"{name} is given twice, {earlier} and {value}; the last counts"
            sys.stderr.write(f"{single_line(line)}\n")


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
