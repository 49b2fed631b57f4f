"""Commands as users give them, and their words with paths in place of placeholders.

No shell reads a command: it is split into words as a shell splits them, and what only a shell
understands is refused with the remedy.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuesta.errors import InputError

PLACEHOLDERS = ("input", "answer", "here", "threads", "memory", "python")
"""Names between braces that stand for a path or a number in the words of a command."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_.-]*)\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_SIGN = re.compile(r"[.-]")
"""Signs of names that no variable has."""
_SHELL_SIGNS = "|&;<>`"
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish"))
_RESERVED = frozenset(("programs.json", "report.html", "compare.json", "run.json"))


@dataclass(frozen=True, kw_only=True)
class Program:
    """A named command: its text as given, and its words with placeholders.

    `where` names the option or the setting that gave it, for errors.
    """

    name: str
    text: str
    words: tuple[str, ...]
    where: str = "--command"


@dataclass(frozen=True, kw_only=True)
class Values:
    """Values of the placeholders for a run; `here` is the folder of the caller.

    `answer` and `input` are empty where a run has none. `further_inputs` are `{input2}` and so on;
    `levels` are values of placeholders that the caller adds, such as the factors of a study.
    """

    here: Path
    input: str
    answer: str
    threads: int
    memory_bytes: int
    further_inputs: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        """The value of each placeholder, without those of `levels`."""
        further = enumerate(self.further_inputs, 2)
        return {
            "input": self.input,
            "answer": self.answer,
            "here": str(self.here),
            "threads": str(self.threads),
            "memory": str(self.memory_bytes),
            "python": sys.executable,
            **{f"input{number}": path for number, path in further},
        }


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words of a run, and the relative ones that were resolved, by what they became."""

    words: tuple[str, ...]
    resolved: Mapping[str, str]


def parse(arguments: Sequence[str]) -> tuple[Program, ...]:
    """Read `NAME=COMMAND` arguments. Errors: `InputError` naming the argument."""
    programs: dict[str, Program] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        name = name.strip()
        if not equals or not text.strip():
            raise InputError(f"--command is {argument!r}, give NAME='COMMAND', such as a='cat x'")
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise InputError(
                f"--command: {name!r} is no name of a program; give letters, digits and .-_+, "
                "at most 40"
            )
        if name.lower() in {known.lower() for known in programs}:
            raise InputError(f"--command: two programs are called {name!r}; give each another name")
        programs[name] = to_program(name, text, f"--command {name}")
    return tuple(programs.values())


def to_program(name: str, text: str, where: str) -> Program:
    """Split the text of a command into words. Errors: `InputError` that names `where` it is."""
    return Program(name=name, text=text.strip(), words=_split(where, text), where=where)


def check(program: Program, *, has_input: bool, has_answer: bool) -> None:
    """Refuse placeholders that are unknown or have no value. Errors: `InputError`."""
    missing = {
        "input": "" if has_input else "no --input was given; add --input FILE",
        "answer": "" if has_answer else "the answer is what the program prints (--answer -)",
    }
    check_placeholders(program, {**dict.fromkeys(PLACEHOLDERS, ""), **missing})


def check_placeholders(program: Program, missing: Mapping[str, str]) -> None:
    """Refuse placeholders that are not known, or that have no value; `missing` says why by name.

    Errors: `InputError`.
    """
    for name in uses(program):
        if name not in missing:
            known = ", ".join(f"{{{each}}}" for each in missing)
            raise InputError(
                f"{program.where}: {{{name}}} is none of {known}; write {{{{{name}}}}} "
                "for these characters themselves"
            )
        if missing[name]:
            raise InputError(f"{program.where}: {{{name}}} has no value: {missing[name]}")


def uses(program: Program) -> list[str]:
    """The placeholders in a command."""
    return [match[2] for word in program.words for match in _PLACEHOLDER.finditer(word) if match[2]]


def words_of(program: Program, values: Values, answer_name: str) -> Words:
    """The words to run: placeholders replaced, and relative paths that exist made absolute.

    A word, or the text after its first `=`, is resolved from the folder of the caller where it has
    a dot or a slash in it and names a file or folder there; `.` and the name of the answer belong
    to the folder of the run. The first word is resolved where it has a slash.
    """
    texts = {**values.levels, **values.texts()}
    resolved: dict[str, str] = {}
    words = []
    for index, word in enumerate(program.words):
        plain = _PLACEHOLDER.search(word) is None
        text = _PLACEHOLDER.sub(lambda match: _value(match, texts), word)
        if plain and (index > 0 or "/" in word):
            text = _resolved(word, values.here, answer_name)
            if text != word:
                resolved[word] = text
        words.append(text)
    return Words(words=tuple(words), resolved=resolved)


def environment(values: Values) -> dict[str, str]:
    """Variables that a command has besides those of the caller."""
    texts = {f"CUESTA_{name.upper()}": text for name, text in values.texts().items()}
    levels = {
        f"CUESTA_FACTOR_{_SIGN.sub('_', name).upper()}": text
        for name, text in values.levels.items()
    }
    return {name: text for name, text in {**texts, **levels}.items() if text}


def _value(match: re.Match[str], texts: Mapping[str, str]) -> str:
    return f"{{{match[1]}}}" if match[1] else texts[match[2]]


def _resolved(word: str, here: Path, answer_name: str) -> str:
    option, equals, path = word.partition("=") if word.startswith("-") else ("", "", word)
    if not path or path in (".", "./", answer_name, f"./{answer_name}"):
        return word
    is_path = "/" in path or "." in path
    if not is_path or os.path.isabs(path) or "\0" in path:  # noqa: PTH117
        return word
    target = here / path
    try:
        exists = target.exists()
    except OSError:  # A name that is too long is no path.
        exists = False
    return f"{option}{equals}{os.path.normpath(target)}" if exists else word


def _split(where: str, text: str) -> tuple[str, ...]:
    if "\0" in text:
        raise InputError(f"{where}: it has a zero byte; leave it out")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        reason = str(error).lower()
        raise InputError(f"{where}: {reason} in {text!r}; close the quote") from None
    if not words or not words[0]:
        raise InputError(f"{where}: it has no word; name a program")
    sign = _shell_sign(text)
    if sign:
        raise InputError(
            f"{where}: {sign!r} is for a shell, and none reads this command; write "
            f'"sh -c \'...\'", with "$CUESTA_INPUT" and "$CUESTA_ANSWER" in it'
        )
    if Path(words[0]).name in _SHELLS and any(
        " " in word and _PLACEHOLDER.search(word) and "CUESTA_" not in word for word in words
    ):
        _check_quoted(where, words)
    return words


def _check_quoted(where: str, words: Sequence[str]) -> None:
    """Refuse a placeholder in a script of a shell where a path with a space would be two words."""
    here = str(Path.cwd())
    if re.search(r"[^\w./+-]", here, re.ASCII):
        raise InputError(
            f"{where}: this folder's path has characters that a shell would read; write "
            f'"$CUESTA_INPUT" and "$CUESTA_ANSWER" in {words[0]}\'s script'
        )


def _shell_sign(text: str) -> str:
    """The first character outside of quotes that only a shell understands."""
    quote, escaped = "", False
    for index, sign in enumerate(text):
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _SHELL_SIGNS or (sign == "$" and text[index + 1 : index + 2].strip()):
            return sign
    return ""
