"""Settings of a trial that runs a command: its steps, its answer, and what it needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePath

from cuesta.errors import InputError
from cuesta.programs.answers.formats import BYTES
from cuesta.programs.answers.rules import ORDERS, Rules, Tolerance, parse_tolerances
from cuesta.programs.commands import PLACEHOLDERS, Program, check_placeholders, to_program
from cuesta.programs.plan import STANDARD_OUTPUT, TIME_LIMIT_SECONDS, form_of, parse_duration
from cuesta_lab.study.model import Table

COMMAND = "command"
"""Setting with the words of a program; also the workload and the engine in records of its runs."""
NAMES = frozenset(
    {
        COMMAND,
        "setup",
        "check",
        "answer",
        "format",
        "key",
        "tolerance",
        "rows",
        "header",
        "expected",
        "time_limit",
        "needs",
        "needs_python",
    }
)
"""Names of the settings of a command."""
SHARED = frozenset({"inputs", "memory", "cores", "cache"})
"""Names of the other settings that a command may have."""
INPUTS_MAX = 9
_OPTION = re.compile(r"--(time-limit|memory|key|tolerance|format|rows|answer|expected|input)\b")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """Folder of the study file, and the text of each factor's level in a command."""

    here: Path = field(default_factory=Path.cwd)
    levels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CommandSettings:
    """Settings of a command.

    Attributes
    ----------
    command, setup, check
        The command whose time is taken, and those before and after it.
    answer
        File that the command writes, relative to its folder; `STANDARD_OUTPUT` for its output.
    kind, header
        Format of the answer, and whether its first line names the columns.
    expected
        Path of an answer that is known to be right, or None.
    needs, needs_python
        Programs and modules of Python without which the combination is left out.
    here
        Folder of the study file, from which relative words are resolved.
    levels
        Texts that stand for the factors between braces.
    """

    command: str
    answer: str
    kind: str
    rules: Rules
    setup: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    header: bool | None = None
    expected: str | None = None
    time_limit_seconds: float = TIME_LIMIT_SECONDS
    needs: tuple[str, ...] = ()
    needs_python: tuple[str, ...] = ()
    here: str = "."
    levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_printed(self) -> bool:
        """Whether the command prints its answer."""
        return self.answer == STANDARD_OUTPUT

    @property
    def answer_name(self) -> str:
        """Path of the answer in the folder of a run, or of its output."""
        return "stdout.txt" if self.is_printed else self.answer

    @property
    def main(self) -> Program:
        """The command whose time is taken."""
        return to_program(COMMAND, self.command, COMMAND)

    @property
    def before(self) -> tuple[Program, ...]:
        """Commands that run before it."""
        return _steps("setup", self.setup)

    @property
    def after(self) -> tuple[Program, ...]:
        """Commands that check its answer."""
        return _steps("check", self.check)

    @property
    def comparison(self) -> tuple[object, ...]:
        """Settings by which its answer is read and compared."""
        return (self.kind, self.header, repr(self.rules), self.expected)

    def refusal(self) -> str | None:
        """Reason why the command cannot run here, or None."""
        for name in self.needs:
            if shutil.which(name) is None:
                return f"needs {name}, which is not installed"
        for name in self.needs_python:
            if find_spec(name) is None:
                return f"needs {name}, which is not installed for this Python"
        return None

    def shown(self) -> Iterator[str]:
        """Each of its commands, with its levels in place of factors."""
        for program in (*self.before, self.main, *self.after):
            text = program.text
            for name, level in self.levels.items():
                text = text.replace(f"{{{name}}}", level)
            yield text


def read_command(table: Table, inputs: int, context: CommandContext) -> CommandSettings:
    """Read the settings of a command with a number of inputs. Errors: `InputError`."""
    unknown = sorted(table.keys() - NAMES - SHARED)
    if unknown:
        known = ", ".join(sorted(NAMES | SHARED))
        raise InputError(f"{unknown[0]} is not for a command, which takes {known}; leave it out")
    answer = _answer(table)
    header = table.get("header")
    if header is not None and not isinstance(header, bool):
        raise InputError(f"header is {header!r}, give true or false")
    with named_as_settings():
        form = form_of(answer, _optional(table, "format"), header=header)
        limit = parse_duration(_optional(table, "time_limit") or f"{TIME_LIMIT_SECONDS:g}")
    values = CommandSettings(
        command=_text(table, COMMAND),
        answer=answer,
        kind=form.kind,
        rules=_rules(table, form.kind),
        setup=_texts(table, "setup"),
        check=_texts(table, "check"),
        header=header,
        expected=_expected(table, context.here),
        time_limit_seconds=limit,
        needs=_names(table, "needs", _PROGRAM),
        needs_python=_names(table, "needs_python", _MODULE),
        here=str(context.here),
        levels=dict(context.levels),
    )
    _check_words(values, inputs)
    return values


def check_input_command(text: str) -> Program:
    """Read a command that writes an input to `{answer}`. Errors: `InputError`."""
    program = to_program(COMMAND, text, COMMAND)
    missing = dict.fromkeys(PLACEHOLDERS, "")
    missing["input"] = "it writes an input; it has none"
    check_placeholders(program, missing)
    return program


def in_settings(text: str) -> str:
    """Name settings in a sentence that names options of `cuesta compare`."""
    text = text.replace("--no-header", "header = false")
    text = text.replace("in the folder where you are", "next to the study file")
    return _OPTION.sub(lambda match: match[1].replace("-", "_"), text)


@contextmanager
def named_as_settings() -> Iterator[None]:
    """Name settings in errors that name options of `cuesta compare`."""
    try:
        yield
    except InputError as error:
        raise InputError(in_settings(str(error))) from None


def _check_words(values: CommandSettings, inputs: int) -> None:
    """Refuse words that cannot be split, and placeholders without a value. Errors: `InputError`."""
    if inputs > INPUTS_MAX:
        raise InputError(f"inputs has {inputs} names; a command takes at most {INPUTS_MAX}")
    missing = dict.fromkeys((*PLACEHOLDERS, *values.levels), "")
    missing |= {f"input{number}": "" for number in range(2, inputs + 1)}
    if not inputs:
        missing["input"] = "inputs has no name; give it one"
    checked = dict(missing)
    if values.is_printed:
        missing["answer"] = 'the answer is what the command prints (answer = "-")'
    for program in (*values.before, values.main):
        check_placeholders(program, missing)
    for program in values.after:
        check_placeholders(program, checked)


def _steps(name: str, texts: tuple[str, ...]) -> tuple[Program, ...]:
    """Commands of a list, each named by its place in it. Errors: `InputError`."""
    numbers = range(1, len(texts) + 1)
    return tuple(
        to_program(f"{name}-{number}", text, f"{name} {number}")
        for number, text in zip(numbers, texts, strict=True)
    )


def _rules(table: Table, kind: str) -> Rules:
    order = _optional(table, "rows") or ""
    if order not in ("", *ORDERS):
        raise InputError(f"rows is {order!r}, give one of {', '.join(ORDERS)}")
    key = _texts(table, "key")
    if len(set(key)) < len(key) or "" in key:
        raise InputError(f"key is {list(key)!r}, give different columns")
    tolerances = table.get("tolerance", {})
    if not isinstance(tolerances, Mapping):
        raise InputError(f"tolerance is {tolerances!r}, give a table such as {{ score = 1e-9 }}")
    if kind == BYTES and (key or tolerances or order):
        raise InputError(
            "key, tolerance and rows need rows, and the answer is read as bytes; add format"
        )
    return Rules(
        key=key,
        tolerances={name: _tolerance(name, amount) for name, amount in tolerances.items()},
        order=order,
    )


def _tolerance(column: str, amount: object) -> Tolerance:
    if isinstance(amount, bool) or not isinstance(amount, (int, float, str)):
        raise InputError(f'tolerance of {column} is {amount!r}, give 1e-9 or "1e-9+1e-12"')
    with named_as_settings():
        return parse_tolerances([f"{column}={amount}"])[column]


def _answer(table: Table) -> str:
    answer = _optional(table, "answer")
    if not answer:
        raise InputError('answer is missing; add answer = "out.csv", or "-" for what is printed')
    path = PurePath(answer)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in answer:
        raise InputError(
            f"answer is {answer!r}, give a path in the folder of each run, such as out.csv, or - "
            "for what the command prints"
        )
    return answer


def _expected(table: Table, here: Path) -> str | None:
    text = _optional(table, "expected")
    if text is None:
        return None
    path = here / text
    if not path.exists():
        raise InputError(f"expected: {path}: no such file or folder; check the path")
    return str(path)


def _optional(table: Table, name: str) -> str | None:
    return _text(table, name) if name in table else None


def _text(table: Table, name: str) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} is {value!r}, give text")
    return value


def _texts(table: Table, name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value):
        return tuple(value)
    raise InputError(f"{name} is {value!r}, give a list of texts")


def _names(table: Table, name: str, form: re.Pattern[str]) -> tuple[str, ...]:
    values = _texts(table, name)
    wrong = next((value for value in values if not form.fullmatch(value)), None)
    if wrong is not None:
        raise InputError(f"{name}: {wrong!r} is no name; give names such as duckdb")
    return values
