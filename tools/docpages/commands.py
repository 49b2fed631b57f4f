"""Reference of the command line, written from the commands themselves: pages and man pages.

One page a command, with a section for each of its subcommands; options that all workloads share
are in one table.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main

from cuesta.cli.commands import COMMANDS, build
from cuesta.workloads import WORKLOAD_NAMES, get_workload

SHARED_BY = ("run", "compare")
"""Commands whose subcommands, the workloads, share options."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option or argument as it is documented."""

    words: str
    help: str
    default: str


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its command, in Markdown."""
    application: Any = typer.main.get_command(build())
    return {name: _page(name, application.commands[name]) for name in COMMANDS}


def summary(name: str) -> str:
    """Return a sentence on a command, for the list of man pages."""
    application: Any = typer.main.get_command(build([name]))
    return _first_sentence(application.commands[name])


def _page(name: str, command: Any) -> str:
    lines = [f"# cuesta {name}", "", *_description(command)]
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        return "\n".join([*lines, *_usage(f"cuesta {name}", command), *_table(command.params), ""])
    shared = _shared(subcommands) if name in SHARED_BY else set()
    if command.params:
        lines += [*_usage(f"cuesta {name}", command), *_table(command.params)]
    if shared:
        some = next(iter(subcommands.values()))
        parameters = [each for each in some.params if each.name in shared]
        lines += ["## Options of every workload", "", *_table(parameters)]
    for word, subcommand in subcommands.items():
        lines += [f"## cuesta {name} {word}", "", *_description(subcommand)]
        if name in SHARED_BY and word in WORKLOAD_NAMES:
            lines += [f"{get_workload(word).summary}", ""] if not subcommand.help else []
            page = f"../../../spec/workloads/{word}/README.md"
            lines += [f"[What it computes, and its digest]({page}).", ""]
        lines += _usage(f"cuesta {name} {word}", subcommand)
        parameters = [each for each in subcommand.params if each.name not in shared]
        lines += _table(parameters)
        for inner, deeper in getattr(subcommand, "commands", {}).items():
            lines += [f"### cuesta {name} {word} {inner}", "", *_description(deeper)]
            lines += [*_usage(f"cuesta {name} {word} {inner}", deeper), *_table(deeper.params)]
    return "\n".join([*lines, ""])


def _shared(subcommands: dict[str, Any]) -> set[str]:
    """Names of parameters that all workloads have, but not their inputs."""
    names = [{each.name for each in command.params} for command in subcommands.values()]
    return set.intersection(*names) - {"inputs"}


def _description(command: Any) -> list[str]:
    text = inspect.cleandoc(command.help or "")
    return [_plain(text), ""] if text else []


def _usage(words: str, command: Any) -> list[str]:
    arguments = [_metavar(each) for each in command.params if _is_argument(each)]
    end = ["COMMAND ..."] if getattr(command, "commands", None) else []
    return ["```text", " ".join([words, *arguments, "[OPTIONS]", *end]), "```", ""]


def _table(parameters: list[Any]) -> list[str]:
    rows = [option for each in parameters for option in _option(each)]
    if not rows:
        return []
    lines = ["| option | meaning | default |", "|---|---|---|"]
    lines += [f"| {row.words} | {_cell(row.help)} | {_cell(row.default)} |" for row in rows]
    return [*lines, ""]


WORDS_MAX = 30
"""Longest list of an option's words in a cell without a break."""


def _option(parameter: Any) -> Iterator[Option]:
    if parameter.name == "help" or getattr(parameter, "hidden", False):
        return
    if _is_argument(parameter):
        words = f"`{_metavar(parameter)}`"
    else:
        value = "" if getattr(parameter, "is_flag", False) else f" {_metavar(parameter)}"
        names = [*parameter.opts, *parameter.secondary_opts]
        words = ", ".join(f"`{name}{value}`" for name in names).replace("|", "\\|")
        if len(value) > WORDS_MAX and "|" in value:
            # Lines end between words of code, not within.
            words = words.replace("\\|", "` \\| `")
    required = "required" if parameter.required else _default(parameter)
    yield Option(words=words, help=_plain(parameter.help or ""), default=required)


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    value = parameter.default
    is_empty = value is None or value is False or value in ("", [])
    return "" if is_empty or callable(value) else str(value)


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    if _is_argument(parameter):
        return str(parameter.name).upper()
    kind = parameter.type_descriptor.annotation
    return next((name for known, name in _KINDS.items() if kind in (known, known | None)), "TEXT")


_KINDS: dict[Any, str] = {int: "N", float: "X", Path: "PATH"}
"""Names of values in help, by type."""


def _is_argument(parameter: Any) -> bool:
    return str(parameter.param_type_name) == "argument"


def _first_sentence(command: Any) -> str:
    text = " ".join(_plain(inspect.cleandoc(command.help or "")).split())
    return text.partition(". ")[0].rstrip(".")


def _plain(text: str) -> str:
    """Text of help as Markdown: brackets and angles are text."""
    return text.replace("<", "&lt;").replace("[", "\\[").replace("]", "\\]").replace("*", "\\*")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
