"""Options of a comparison of programs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePath

from cuesta.errors import InputError
from cuesta.lab import inputs
from cuesta.programs import sizes
from cuesta.programs.answers.formats import BYTES, check_readable, kind_of
from cuesta.programs.answers.rules import ORDERS, Rules
from cuesta.programs.answers.tables import Form
from cuesta.programs.commands import Program, check, uses
from cuesta.trial import is_remote

REPEATS = 6
"""Fewest repeats whose smallest and largest time hold the median with 95 % confidence."""
REPEATS_MAX = 1000
TIME_LIMIT_SECONDS = 3600.0
STANDARD_OUTPUT = "-"
"""Name of an answer that programs print."""


@dataclass(frozen=True, kw_only=True)
class ProgramsPlan:
    """Options of a comparison.

    Attributes
    ----------
    output
        Folder to make, with the record, the answers and the output of all programs.
    here
        Folder of the caller, from which relative paths in commands are resolved.
    answer
        File that each program writes, relative to its folder; `STANDARD_OUTPUT` for its output.
    input
        Input of all programs, or None.
    parts
        Parts of the input, in rising order; the last one is 1.
    expected
        An answer that is known to be right, or None: the first program's answer is the reference.
    cache
        State of the page cache before each run, a `CACHE_` constant of `cuesta.lab.inputs`.
    seed
        Seed of the order of runs.
    command
        Words of the command line, for the record.
    """

    output: Path
    here: Path
    answer: str
    form: Form
    rules: Rules
    threads: int
    memory_bytes: int
    input: Path | None = None
    parts: tuple[Fraction, ...] = (Fraction(1),)
    expected: Path | None = None
    repeats: int = REPEATS
    cache: str = inputs.CACHE_AS_IS
    time_limit_seconds: float = TIME_LIMIT_SECONDS
    seed: int = 0
    scratch: Path | None = None
    overwrite: bool = False
    command: tuple[str, ...] = ()
    started: float = field(default_factory=time.time)

    @property
    def is_printed(self) -> bool:
        """Whether programs print their answers."""
        return self.answer == STANDARD_OUTPUT

    @property
    def answer_name(self) -> str:
        """Path of the answer in a program's folder."""
        return "stdout.txt" if self.is_printed else self.answer

    @property
    def inputs(self) -> tuple[str, ...]:
        """Paths that the comparison reads."""
        return tuple(str(path) for path in (self.input, self.expected) if path)


def form_of(answer: str, kind: str | None, *, header: bool | None = None) -> Form:
    """Return the options for reading the answers. Errors: `InputError`, `EngineMissing`."""
    chosen = kind or kind_of(answer)
    check_readable(chosen)
    return Form(kind=chosen, header=header)


def check_plan(plan: ProgramsPlan, programs: tuple[Program, ...]) -> None:
    """Refuse what cannot be compared, before anything runs. Errors: `InputError`."""
    if len(programs) < (1 if plan.expected else 2):
        raise InputError(
            "compare: give at least two --command NAME='...', or one with --expected FILE"
        )
    if not 1 <= plan.repeats <= REPEATS_MAX:
        raise InputError(f"--repeats is {plan.repeats}, give 1 to {REPEATS_MAX:,}")
    _check_answer(plan)
    for path, option in ((plan.input, "--input"), (plan.expected, "--expected")):
        if path and is_remote(str(path)):
            raise InputError(f"{option} {path}: programs read local paths; copy it first")
        if path and not path.exists():
            raise InputError(f"{option} {path}: no such file or folder; check the path")
    for program in programs:
        check(program, has_input=plan.input is not None, has_answer=not plan.is_printed)
        reads = "input" in uses(program) or "CUESTA_INPUT" in program.text
        if len(plan.parts) > 1 and not reads:
            raise InputError(
                f"--command {program.name} has no {{input}}, so --sizes does not change what it "
                "reads; write {input} in it"
            )
    if len(plan.parts) > 1:
        _check_sizes(plan)


def _check_sizes(plan: ProgramsPlan) -> None:
    if plan.input is None:
        raise InputError("--sizes are parts of --input FILE; give that too")
    if plan.expected:
        raise InputError("--expected is the answer of one size; leave --sizes out")
    sizes.check(plan.input, plan.parts)


def _check_answer(plan: ProgramsPlan) -> None:
    if plan.rules.order not in ("", *ORDERS):
        raise InputError(f"--rows is {plan.rules.order!r}, give one of {', '.join(ORDERS)}")
    path = PurePath(plan.answer)
    if not plan.answer.strip() or path.is_absolute() or ".." in path.parts or not path.name:
        raise InputError(
            f"--answer is {plan.answer!r}, give a path in the folder of each run, such as out.csv, "
            "or - for what programs print"
        )
    if plan.form.kind == BYTES and (plan.rules.key or plan.rules.tolerances or plan.rules.order):
        raise InputError(
            f"--key, --tolerance and --rows need rows, and {plan.answer} is read as bytes; add "
            "--format csv, tsv, jsonl, parquet, arrow, npy or lines"
        )


def parse_duration(text: str) -> float:
    """Seconds in `30s`, `10min`, `2h` or `90`. Errors: `InputError`."""
    units = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
    number = text.strip().rstrip("smihn")
    unit = text.strip()[len(number) :]
    try:
        seconds = float(number) * units[unit]
    except (ValueError, KeyError):
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise InputError(f"--time-limit is {text!r}, give a time such as 30s, 10min or 2h")
    return seconds
