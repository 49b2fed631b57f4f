"""Reads plain command lines of `run` or `compare` in a twentieth of Typer's time.

Typer reads all others (help, completion, an unknown word, a value that does not fit), so that one
place explains and refuses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from cuesta.api.declared import Option
from cuesta.api.options import inputs_required, make_command, options
from cuesta.cli import streams
from cuesta.trial import STANDARD_INPUT
from cuesta.workloads import WORKLOAD_NAMES, get_workload

COMMANDS = ("run", "compare")
"""Modules of this package with an `ENGINES` option and a `body`."""


def command(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Return the call of the command line, or None where it is not plain."""
    if streams.COMPLETION in os.environ:
        return None
    if len(arguments) < 3:
        return None
    name, workload_name, *words = arguments
    if name not in COMMANDS or workload_name not in WORKLOAD_NAMES:
        return None
    module = import_module(f"cuesta.cli.{name}")
    workload = get_workload(workload_name)
    values = parse(options(workload, module.ENGINES), words)
    if values is None or (inputs_required(workload) and not values["inputs"]):
        return None
    return partial(make_command(workload, module.ENGINES, module.body), **values)


def parse(known: Sequence[Option], words: Sequence[str]) -> dict[str, Any] | None:
    """The value of every option and the list of `inputs`, or None where they are not plain."""
    by_word = {word: each for each in known for word in each.words}
    values: dict[str, Any] = {each.name: each.untyped for each in known}
    inputs: list[str] = []
    typed: set[str] = set()
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == STANDARD_INPUT:
            inputs.append(word)
            continue
        name, equals, text = word.partition("=")
        option = by_word.get(name)
        if option is None or (equals and not name.startswith("--")):
            return None
        value = (
            _flag(equals) if option.kind is bool else _value(option, text if equals else None, rest)
        )
        is_repeated = option.name in typed and not option.many and option.kind is not bool
        if value is None or is_repeated:
            return None
        typed.add(option.name)
        values[option.name] = [*(values[option.name] or []), value] if option.many else value
    if any(each.required and values[each.name] is None for each in known):
        return None
    return {**values, "inputs": inputs}


def _flag(equals: str) -> bool | None:
    return None if equals else True


def _value(option: Option, text: str | None, rest: Any) -> Any:
    """The value of an option, from `rest` where it is not in `text`; None where it is not plain."""
    if text is None:
        text = option.alone or next(rest, "-")
        if text.startswith("-"):
            return None
    if option.kind in (int, float) and not (text.isascii() and "_" not in text):
        return None
    try:
        return option.kind(text)
    except ValueError:
        return None
