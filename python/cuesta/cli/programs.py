"""`cuesta compare --command NAME='...' --answer FILE -o DIR`: any programs, by their answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from cuesta.api.declared import CACHE_HELP, Option
from cuesta.api.options import cache_of, memory_limit, thread_limit
from cuesta.errors import InputError
from cuesta.programs.answers.formats import FORMATS
from cuesta.programs.answers.rules import ORDERS
from cuesta.programs.plan import REPEATS, ProgramsPlan

HELP = """Hold answers equal: of a workload on several engines, or of any programs.

With a WORKLOAD, run it on several --engines. With --command, run any programs, each in an empty
folder of its own, one after the other in a drawn order, compare the answers that they write, and
time those whose answer is equal. No shell reads a command; sh -c '...' is one.

In a command {input}, {answer}, {here}, {threads}, {memory} and {python} stand for the absolute
paths of --input, of the answer to write and of the folder where you are, the cores, the bytes of
memory, and the Python that runs Cuesta; the variables $CUESTA_INPUT, $CUESTA_ANSWER and so on have
the same values. A relative word with a dot or a slash that names a file or folder where you are
becomes its absolute path; all other words remain as they are, so a relative output is in the
program's own folder.

Exit code: 0 all answers are equal, 1 an answer differs, 2 bad arguments, 3 a program failed.
"""
_PROGRAMS, _ANSWERS, _RUNS = "Any programs", "Their answers", "Their runs"


def _option(panel: str, *words: str, kind: type = str, **more: Any) -> Option:
    name = words[-1].removeprefix("--").replace("-", "_")
    return Option(name=name, words=words, kind=kind, panel=panel, **more)


OPTIONS = (
    _option(
        _PROGRAMS, "--command", many=True, metavar="NAME='WORDS'", shown=False,
        help="A program by a name of your choice; repeat it. The answer of the first is the "
        "reference.",
    ),
    _option(
        _PROGRAMS, "--input", kind=Path, metavar="FILE", shown=False,
        help="Input of all programs, {input} in their words.",
    ),
    _option(
        _PROGRAMS, "--sizes", metavar="1,2,4", shown=False,
        help="Time parts of the input: the largest number is all of it, and half of that its first "
        "half of rows.",
    ),
    _option(
        _ANSWERS, "--answer", metavar="FILE", shown=False,
        help="File or folder that each program writes, relative to its own folder; - for what it "
        "prints.",
    ),
    _option(
        _ANSWERS, "--format", metavar="|".join(FORMATS), choices=FORMATS,
        help="Format of the answers.", shown="by the suffix, else bytes",
    ),
    _option(
        _ANSWERS, "--key", metavar="COLUMNS", shown="all without a tolerance",
        help="Columns that identify a row, separated by commas.",
    ),
    _option(
        _ANSWERS, "--tolerance", many=True, metavar="COLUMN=1e-9", shown="equal exactly",
        help="Largest difference in a column as a part of the larger value; COLUMN=1e-9+1e-12 adds "
        "an absolute amount. May be repeated.",
    ),
    _option(
        _ANSWERS, "--rows", metavar="|".join(ORDERS), choices=ORDERS,
        help="Whether the order of rows counts.", shown="any; in-order for arrays",
    ),
    _option(
        _ANSWERS, "--no-header", kind=bool, default=False,
        help="The first line of CSV and TSV is a row, and does not name the columns.",
    ),
    _option(
        _ANSWERS, "--expected", kind=Path, metavar="FILE", shown=False,
        help="An answer that is known to be right, as the reference.",
    ),
    _option(
        _RUNS, "--repeats", "--repeat", kind=int, metavar="N", default=REPEATS,
        help="Run each program so often; six runs give an interval of 95 % confidence.",
    ),
    _option(
        _RUNS, "--time-limit", metavar="TIME", default="1h",
        help="End a program that runs longer, with all that it started: 30s, 10min, 2h.",
    ),
    _option(_RUNS, "--threads", kind=int, metavar="N", help="Cores that a program may use.",
            shown="all this process may use"),
    _option(
        _RUNS, "--memory", metavar="SIZE", shown="half of the machine's memory",
        help="End a program that needs more, such as 8GiB.",
    ),
    _option(_RUNS, "--cold", metavar="[=machine]", help=CACHE_HELP, default="", alone="input"),
    _option(_RUNS, "--seed", kind=int, help="Seed of the order of runs.", default=0),
    _option(_RUNS, "--scratch", kind=Path, metavar="DIR", shown="next to the output",
            help="Folder in which the programs' own folders are."),
    _option(_RUNS, "-o", "--output", kind=Path, metavar="DIR", shown=False,
            help="Folder to make: the record, a page, and each program's answer and output."),
    _option(_RUNS, "--overwrite", kind=bool, default=False, help="Replace a result in DIR."),
    _option(_RUNS, "--json", kind=bool, default=False,
            help="Print the record on stdout, all else on stderr."),
)  # fmt: skip


def command(context: typer.Context, **values: Any) -> None:
    """Compare programs where no workload is named. Errors: `InputError`, and those of the runs."""
    chosen = [option for option in OPTIONS if values[option.name] not in (option.default, None, [])]
    if context.invoked_subcommand is not None:
        if chosen:
            raise InputError(
                f"compare: {chosen[0].words[0]} in front of the workload "
                f"{context.invoked_subcommand}; write its options behind the inputs"
            )
        return
    _compare(values)


def _compare(values: Mapping[str, Any]) -> None:
    from cuesta.cli.output import Output
    from cuesta.cli.programs_table import print_programs
    from cuesta.programs import record
    from cuesta.programs.commands import parse
    from cuesta.programs.run import compare_programs
    from cuesta.report.programs import write_page
    from cuesta.report.programs_words import doubt

    programs = parse(values["command"] or ())
    plan = _plan(values)
    with Output(as_json=values["json"]) as output:
        result = compare_programs(programs, plan, output.observer)
    output.print_json(result)
    print_programs(output.console, result)
    page = write_page(plan.output, plan.output / "report.html")
    output.console.print(f"page: {page}")
    if sentence := doubt(result):
        output.console.print(sentence)
    error = record.error_of(result)
    if error:
        raise error


def _plan(values: Mapping[str, Any]) -> ProgramsPlan:
    """The plan of the options. Errors: `InputError`, `EngineMissing`."""
    from fractions import Fraction

    from cuesta.programs import sizes
    from cuesta.programs.answers.rules import Rules, parse_key, parse_tolerances
    from cuesta.programs.plan import form_of, parse_duration

    for name, example in (("command", "NAME='...'"), ("answer", "out.csv"), ("output", "DIR")):
        if not values[name]:
            raise InputError(f"compare: --{name} is missing; add --{name} {example}")
    rules = Rules(
        key=parse_key(values["key"] or ""),
        tolerances=parse_tolerances(values["tolerance"] or ()),
        order=values["rows"] or "",
    )
    header = False if values["no_header"] else None
    return ProgramsPlan(
        output=values["output"],
        here=Path.cwd(),
        answer=values["answer"],
        form=form_of(values["answer"], values["format"], header=header),
        rules=rules,
        threads=thread_limit(values["threads"]),
        memory_bytes=memory_limit(values["memory"]),
        input=values["input"],
        parts=sizes.parse(values["sizes"]) if values["sizes"] else (Fraction(1),),
        expected=values["expected"],
        repeats=values["repeat"],
        cache=cache_of(values["cold"]),
        time_limit_seconds=parse_duration(values["time_limit"]),
        seed=values["seed"],
        scratch=values["scratch"],
        overwrite=values["overwrite"],
        command=("cuesta", *sys.argv[1:]),
    )
