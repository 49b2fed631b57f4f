"""Keywords of Python's calls: the long words of the command line's options, with Python's values.

The checks and the defaults are those of `cuesta.api.options`. A message that names an option names
the keyword to callers from Python.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from keyword import iskeyword
from numbers import Real
from pathlib import Path
from typing import Any

from cuesta.api.answer import Answer, PathText
from cuesta.api.declared import Option
from cuesta.api.options import Common, checked, options
from cuesta.errors import CuestaError, InputError
from cuesta.workloads import Workload

ONLY_TYPED = frozenset({
    "json", "first_mates", "second_mates", "single_reads", "samples", "quiet", "verbose",
    "log_file", "timestamps",
})  # fmt: skip
"""Options of the command line alone: a call returns the record and logs by `logging`, the keywords
`pairs` and `singles` replace -1, -2 and -s, and a loop over calls replaces a sheet of samples."""

_SHOWN_CHARACTERS_MAX = 80

Input = PathText | Answer | Any
"""An input of a workload: a path, the main file of an answer, or a matrix in memory."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A call's checked request; `command` are the words of the same request in a shell."""

    workload: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, object]
    common: Common
    command: tuple[str, ...]


def keywords(workload: Workload, engines: Option) -> dict[str, Option]:
    """The option that each keyword stands for, in the order in which help lists them."""
    typed_options = (
        option for option in options(workload, engines) if option.name not in ONLY_TYPED
    )
    return {keyword: option for option in typed_options for keyword in _keywords_of(option)}


def _keywords_of(option: Option) -> Iterator[str]:
    """`min_abs_score` of `--min-abs-score`; of a workload's own option its letter too.

    A word of Python's own gets an underscore: `as_` of `--as`.
    """
    for word in reversed(option.words):
        if word.startswith("--") or option.name.startswith("parameter_"):
            name = word.lstrip("-").replace("-", "_")
            yield f"{name}_" if iskeyword(name) else name


def read(
    command: str, workload: Workload, engines: Option, values_by_keyword: Mapping[str, object]
) -> Request:
    """Return the request of the keywords and `inputs` of a call; `output` is among them.

    Arguments: `command` is that of the command line. Errors: `InputError` naming the keyword.
    """
    known = keywords(workload, engines)
    inputs = [_input(value) for value in _inputs(values_by_keyword["inputs"])]
    values: dict[str, Any] = {each.name: each.untyped for each in options(workload, engines)}
    words: list[str] = []
    for keyword, value in values_by_keyword.items():
        if keyword == "inputs":
            continue
        option = known.get(keyword)
        if option is None:
            raise InputError(f"{workload.name} has no keyword {keyword!r}; {_near(keyword, known)}")
        if value is not None:
            values[option.name] = _converted(keyword, option, value)
            words += typed(option, values[option.name])
    with in_words_of_python(workload, engines):
        input_paths, parameters, common = checked(workload, engines, values | {"inputs": inputs})
    line = ("cuesta", command, workload.name, *inputs, *words)
    return Request(
        workload=workload.name,
        inputs=input_paths,
        parameters=parameters,
        common=common,
        command=line,
    )


@contextmanager
def in_words_of_python(workload: Workload, engines: Option) -> Iterator[None]:
    """Errors raised in this context name keywords where they named options."""
    names = {
        f"--{name.rstrip('_').replace('_', '-')}": name for name in keywords(workload, engines)
    }
    try:
        yield
    except CuestaError as error:
        message = re.sub(r"--[a-z][a-z-]*", lambda match: names.get(match[0], match[0]), str(error))
        error.args = (message,)
        raise


def _inputs(inputs: object) -> Iterator[object]:
    """Inputs one by one; an element may be a list of inputs."""
    for item in inputs if isinstance(inputs, Sequence) else ():
        if isinstance(item, Sequence) and not isinstance(item, str | bytes):
            yield from item
        else:
            yield item


def _near(keyword: str, known: Mapping[str, Option]) -> str:
    import difflib

    near = difflib.get_close_matches(keyword, known, n=1)
    return f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"


def _converted(keyword: str, option: Option, value: object) -> Any:
    """`value` as the command line would give it. Errors: `InputError`."""
    convert = _CONVERTERS.get(option.name)
    try:
        if convert:
            return convert(value)
        return _of_kind(option, value)
    except (TypeError, ValueError):
        raise InputError(f"{keyword} is {_shown(value)}, give {_wanted(option)}") from None


def _shown(value: object) -> str:
    """Return a value for a message, the type alone of one that is long."""
    text = repr(value)
    is_short = len(text) <= _SHOWN_CHARACTERS_MAX and "\n" not in text
    return text if is_short else f"of type {type(value).__name__}"


def _of_kind(option: Option, value: object) -> Any:
    if option.kind is bool:
        if not isinstance(value, bool):
            raise TypeError
        return value
    if isinstance(value, bool):
        raise TypeError
    if option.kind is Path:
        return Path(value)  # type: ignore[arg-type]
    if option.kind is int and not option.name.startswith("parameter_"):
        return operator.index(value)  # type: ignore[arg-type]
    if option.kind is str and isinstance(value, list | tuple):
        return ",".join(str(_scalar(element)) for element in value)
    return _scalar(value) if option.kind is str else value


def _scalar(value: object) -> object:
    """Return a text, number or path. Errors: `TypeError` for another value."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, str | Real):
        raise TypeError
    return value


def _wanted(option: Option) -> str:
    if option.metavar == "FILE":
        return "a path"
    kinds = {bool: "True or False", int: "a whole number", Path: "a path"}
    return _WANTED.get(option.name) or kinds.get(option.kind, "text or a number")


def _input(value: object) -> str:
    """The path of an input; of an answer, that of its main file. Errors: `InputError`."""
    if isinstance(value, Answer):
        value = value.files[0]
    if not isinstance(value, str | os.PathLike):
        raise InputError(
            f"input {_shown(value)} is no path; give text, a pathlib.Path or an answer"
        )
    return os.fspath(value)


def _memory(value: object) -> str:
    if isinstance(value, bool):
        raise TypeError
    return value if isinstance(value, str) else str(operator.index(value))  # type: ignore[arg-type]


def _cold(value: object) -> str:
    if isinstance(value, bool):
        return "input" if value else ""
    if not isinstance(value, str):
        raise TypeError
    return value


def _engines(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        raise TypeError
    return ",".join(value)


def _settings(value: object) -> list[str]:
    if not isinstance(value, Mapping):
        raise TypeError
    return [f"{name}={setting}" for name, setting in value.items()]


_CONVERTERS: dict[str, Callable[[object], Any]] = {
    "memory": _memory,
    "cold": _cold,
    "engines": _engines,
    "engine_option": _settings,
}
_WANTED = {
    "memory": "a size such as '8GiB', or bytes",
    "cold": "True, or 'machine'",
    "engines": "a name, or a list of names",
    "engine_option": "a mapping from names to settings",
}


def typed(option: Option, value: Any) -> list[str]:
    """Return the words of the command line for the value of an option."""
    word = option.words[-1]
    if option.kind is bool:
        return [word] if value else []
    if option.many:
        return [part for element in value for part in (word, element)]
    if option.alone:
        return [f"{word}={value}"] if value else []
    return [word, str(value)]
