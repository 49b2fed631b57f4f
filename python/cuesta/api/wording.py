"""Types and explanations of the keywords: for the stub, for `help` and for completion."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from cuesta.api.declared import Option
from cuesta.api.keywords import keywords
from cuesta.engines import ENGINE_NAMES
from cuesta.workloads import WORKLOAD_NAMES, get_workload

PROGRESS = "Whether to show how far it is: in a notebook in its cell, else on stderr."

_TYPES = {
    "memory": "str | int | None",
    "cold": 'bool | Literal["machine"]',
    "engine_option": "Mapping[str, object] | None",
    "output": "PathText | None",
    "scratch": "PathText | None",
    "kernels": 'Literal["native", "numpy", "c"] | None',
}
_METAVARS = {"FILE": "PathText | None", "N|FILE": "int | PathText | None"}
"""Types of keywords whose values are named in help."""
_HELP = {
    "memory": "Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch.",
    "cold": "Run cold: before every repeat drop the input's pages from the page cache, or with "
    "'machine' (root only) empty the whole cache.",
    "engine_option": "Settings of the engine, by name.",
    "output": "Answer folder to make. None: a temporary one, which lives as long as the answer.",
}


def type_text(keyword: str, option: Option) -> str:
    """The type of a keyword as a stub writes it."""
    if keyword == "engine":
        return _literal(ENGINE_NAMES)
    if keyword == "engines":
        return "str | Sequence[str]"
    if option.name in _TYPES:
        return _TYPES[option.name]
    if option.metavar in _METAVARS:
        return _METAVARS[option.metavar]
    kind = _literal(option.choices) if option.choices else _KINDS[option.kind]
    return kind if option.default is not None else f"{kind} | None"


_KINDS: dict[type, str] = {str: "str | float | PathText", int: "int", float: "float", bool: "bool"}


def default_text(option: Option) -> str:
    """The default of a keyword as a stub writes it."""
    default = _default(option)
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _default(option: Option) -> object:
    return False if option.name == "cold" else option.default


def help_text(option: Option, known: Mapping[str, Option]) -> str:
    """A sentence or two about a keyword, in words of Python."""
    options = {f"--{keyword.replace('_', '-')}": keyword for keyword in known}
    text = _HELP.get(option.name, option.help).strip()
    if option.default is None and isinstance(option.shown, str):
        text += f" None: {option.shown}."
    return re.sub(r"--[a-z][a-z-]*", lambda match: options.get(match[0], match[0]), text)


def describe(call: Callable[..., Any], engines: Option) -> None:
    """Give `call` the keywords of all workloads, for `help` and for completion.

    A default that depends on the workload is None, which stands for it in every call.
    """
    lines = [inspect.cleandoc(call.__doc__ or ""), "", "Workloads, with their own keywords", ""]
    all_keywords: dict[str, Option] = {}
    defaults: dict[str, object] = {}
    for name in WORKLOAD_NAMES:
        workload = get_workload(name)
        known = keywords(workload, engines)
        special = [keyword for keyword, option in known.items() if _is_of_workload(option)]
        lines.append(f"{name}: {workload.summary}\n    {', '.join(special) or 'none'}")
        for keyword, option in known.items():
            same = defaults.setdefault(keyword, _default(option)) == _default(option)
            defaults[keyword] = defaults[keyword] if same else None
        all_keywords |= known
    lines += ["", "Keywords of every workload", ""]
    shared = {
        keyword: option for keyword, option in all_keywords.items() if not _is_of_workload(option)
    }
    lines += [f"{keyword}: {help_text(option, all_keywords)}" for keyword, option in shared.items()]
    call.__doc__ = "\n".join([*lines, f"progress: {PROGRESS}"])
    add_keywords(call, defaults)


def add_keywords(call: Callable[..., Any], defaults: Mapping[str, object]) -> None:
    """Name the keywords of `call` in place of those that it takes without naming them."""
    parameters = inspect.signature(call).parameters.values()
    named = [
        parameter for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    added = [
        inspect.Parameter(keyword, inspect.Parameter.KEYWORD_ONLY, default=default)
        for keyword, default in defaults.items()
    ]
    call.__signature__ = inspect.Signature([*named, *added])  # type: ignore[attr-defined]


def _is_of_workload(option: Option) -> bool:
    """Whether an option belongs to a workload, not to all of them."""
    return option.name.startswith("parameter_")


def _literal(words: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{word}"' for word in words)
    return f"Literal[{quoted}]"
