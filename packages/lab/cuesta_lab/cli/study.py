"""`cuesta study run
list
check
tune`: a file of trials with a question, and its answer.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from cuesta.cli.echo import echo

if TYPE_CHECKING:
    from cuesta_lab.study.trials import StudyEnvironment

_FACT = re.compile(r"([\w.-]+):([a-z][a-z_]*)=(\d+(?:\.\d+)?)")


def register(app: typer.Typer) -> None:
    """Add `study` with its subcommands."""
    group = typer.Typer(
        help="Run a file of trials that ask a question, and draw the answer.", no_args_is_help=True
    )
    group.command("run", help="Run studies, going on where one was stopped; write a report each.")(
        _command(StudyOptions, _run)
    )
    group.command("list", help="List the studies that come with Cuesta.")(_list)
    group.command(
        "check", help="Say what a study would run here, or hold one against rules or a baseline."
    )(_check)
    group.command("tune", help="Find the fastest settings of a study; judge them by other runs.")(
        _command(TuneOptions, _tune)
    )
    app.add_typer(group, name="study")


_Name = Annotated[str, typer.Argument(metavar="STUDY", help="Name of a study, or its TOML file.")]
_Smoke = Annotated[bool, typer.Option("--smoke", help="Small, to try it: it shows nothing.")]


_Allow = Annotated[
    bool,
    typer.Option(
        "--allow-options",
        help="Pass on options of engines and URIs that the file sets, which can run code of "
        "whoever wrote it; only for a file that you trust.",
    ),
]


_AllowCommands = Annotated[
    bool,
    typer.Option(
        "--allow-commands",
        help="Run the commands of the file, which can do all that you can; only for a file that "
        "you trust.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options of `study run`, as they are typed."""

    names: Annotated[
        list[str], typer.Argument(metavar="STUDY...", help="Names of studies, or TOML files.")
    ]
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder of the study; of several, of theirs."
        ),
    ]
    smoke: _Smoke = False
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=LEVEL,..", help="Only these levels; may be repeated."),
    ] = None
    repeat: Annotated[
        int | None,
        typer.Option("--repeat", metavar="N", min=1, help="Repeats, instead of the study's."),
    ] = None
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0.01, help="Budget, instead of the study's.")
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Limit that no trial may exceed.")
    ] = None
    remote: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PLACE=]URI",
            help="Where inputs are put that the study has lie apart; may be repeated.",
        ),
    ] = None
    fact: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE:NAME=NUMBER",
            help="A number of the storage of a place, such as parallel:stripes=4; may be repeated.",
        ),
    ] = None
    allow_options: _Allow = False
    allow_commands: _AllowCommands = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """The options of `study tune`, as they are typed."""

    name: _Name
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the runs.")
    ]
    default: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL", help="What is used today; else the first level of each factor."
        ),
    ] = None
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0.01, help="Budget, instead of the study's.")
    ] = None
    smoke: _Smoke = False
    allow_options: _Allow = False
    allow_commands: _AllowCommands = False


def _command(options_type: type[Any], body: Callable[[Any], None]) -> Callable[..., None]:
    """The command that calls `body`, with the fields of `options_type` for its signature."""

    def run(**options: Any) -> None:
        body(options_type(**options))

    hints = get_type_hints(options_type, include_extras=True)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hints[field.name],
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
            )
            for field in fields(options_type)
        ]
    )
    run.__annotations__ = hints
    return run


def _run(options: StudyOptions) -> None:
    from dataclasses import replace

    from cuesta import generated, outputs
    from cuesta.cli.output import Output
    from cuesta.errors import CuestaError
    from cuesta_lab.report import write_study
    from cuesta_lab.study import cells, file, idle, result, run, trust

    studies = [file.read(name, smoke=options.smoke) for name in options.names]
    means = _means(options)
    for study in studies:
        trust.require(study, cells.combinations(study, means.memory_bytes), means)
    wrong: list[CuestaError] = []
    for number, study in enumerate(studies):
        study = replace(
            study,
            repeats=options.repeat or study.repeats,
            minutes=options.minutes or study.minutes,
        )
        levels = cells.only(study.factors, options.only) if options.only else ()
        output = options.output / study.name if len(studies) > 1 else options.output
        outputs.check_local(output)
        generated.check(output / "report.html")
        with Output(as_json=False) as display:
            if number and not options.smoke:
                idle.wait(display.observer)
            result_fields, rows = run.run(study, output, means, display.observer, levels)
        _print(result_fields)
        echo(f"report: {write_study(output, output / 'report.html')}")
        try:
            result.raise_errors(rows)
        except CuestaError as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]


def _tune(options: TuneOptions) -> None:
    from dataclasses import replace

    from cuesta_lab.cli import study_tune
    from cuesta_lab.study import file

    study = file.read(options.name, smoke=options.smoke)
    study = replace(study, minutes=options.minutes or study.minutes)
    means = _means(
        StudyOptions(
            names=[options.name],
            output=options.output,
            allow_options=options.allow_options,
            allow_commands=options.allow_commands,
        )
    )
    study_tune.run(study, options.default or [], options.output, means)


def _means(options: StudyOptions) -> StudyEnvironment:
    from cuesta.api.options import memory_limit
    from cuesta.engines import get_engine
    from cuesta_lab.cli.study_means import started_cluster, started_store
    from cuesta_lab.study.trials import StudyEnvironment

    return StudyEnvironment(
        engine=get_engine,
        memory_bytes=memory_limit(options.memory) if options.memory else None,
        places=_places(options.remote or ()),
        facts=_facts(options.fact or ()),
        store=started_store,
        cluster=started_cluster,
        allows_options=options.allow_options,
        allows_commands=options.allow_commands,
    )


def _places(texts: Iterable[str]) -> dict[str, str]:
    """URIs or folders by the names of their places. Errors: `InputError` for a repeated place."""
    from cuesta.errors import InputError
    from cuesta_lab.study.model import NAME, REMOTE

    places: dict[str, str] = {}
    for text in texts:
        place, _, uri = text.partition("=")
        if not uri or not NAME.fullmatch(place):
            place, uri = REMOTE, text
        if place in places:
            raise InputError(f"--remote: there are two for {place}; give one")
        places[place] = uri
    return places


def _facts(texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """Numbers of storages by the names of their places. Errors: `InputError`."""
    from cuesta.errors import InputError

    facts: dict[str, dict[str, float]] = {}
    for text in texts:
        match = _FACT.fullmatch(text)
        if match is None:
            raise InputError(f"--fact is {text!r}, give PLACE:NAME=NUMBER")
        place, name, number = match.groups()
        if name in facts.setdefault(place, {}):
            raise InputError(f"--fact: there are two of {place}:{name}; give one")
        facts[place][name] = float(number)
    return facts


def _print(fields: dict[str, Any]) -> None:
    """The medians of every combination."""
    from cuesta.lab.stats import median_interval
    from cuesta.units import format_seconds

    for cell in fields["cells"]:
        words = ", ".join(f"{factor} {level}" for factor, level in cell["levels"].items())
        samples = cell["measures"].get("work")
        failed = "; ".join(row["why"] for row in cell["failed"])
        text = failed or (f"left out: {cell['left_out']}" if cell["left_out"] else "not run")
        if samples:
            middle = median_interval(samples)
            text = f"{format_seconds(middle.median)} ({len(samples)} runs)"
        echo(f"{words or 'all'}: {text}")


def _list() -> None:
    from cuesta_lab.study import file

    for name in (*file.names(), *file.names(file.GALLERY)):
        echo(f"{name:24} {file.read(name).question}")


def _check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|DIR", help="A study to be run; or the folder of one that has been."
        ),
    ],
    smoke: _Smoke = False,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Result that DIR must not be slower than."),
    ] = None,
    measure: Annotated[str, typer.Option(help="What is compared with the baseline.")] = "work",
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    from cuesta.errors import InputError
    from cuesta_lab.cli import study_check

    folder = Path(name)
    if study_check.is_result(folder):
        if baseline is None:
            study_check.check_rules(folder)
        else:
            study_check.check_result(folder, baseline, measure, as_json=as_json)
    elif baseline is not None:
        raise InputError(f"{name} was not run yet; --baseline is for the folder of a study")
    else:
        _plan(name, smoke)


def _plan(name: str, smoke: bool) -> None:
    """Print the runs that a study would make here."""
    from dataclasses import replace

    from cuesta.engines import get_engine
    from cuesta.units import format_bytes
    from cuesta.untrusted import single_line
    from cuesta_lab.study import cells, estimate, file, refusals, trust

    study = file.read(name, smoke=smoke)
    combined = cells.combinations(study)
    sizes = {each.settings.memory_bytes for each in combined}
    reasons: list[str | None] = []
    for combination in combined:
        settings = combination.settings
        missing = refusals.refusal_of(combination)
        if not missing and settings.command is None:
            missing = get_engine(settings.engine).missing()
        reasons.append(missing)
        limits = (
            f"{settings.cores} cores"
            if settings.nodes == 1
            else f"{settings.nodes} x {settings.cores} cores"
        )
        words = {**settings.workload_parameters, **settings.engine_options, **settings.machine}
        what = f"{settings.workload} on {settings.engine}"
        if settings.command:
            what = "; ".join(map(single_line, settings.command.shown()))
        words_shown = [what, limits]
        words_shown += [f"memory {format_bytes(settings.memory_bytes)}"] * (len(sizes) > 1)
        words_shown += [f"inputs at {settings.place}"] * bool(settings.place)
        words_shown += [f"answer at {settings.output}"] * bool(settings.output)
        words_shown += [f"{key} {value}" for key, value in words.items()]
        echo(
            f"{combination.name:32} {f'not run: {missing}' if missing else ', '.join(words_shown)}"
        )
    planned = [
        replace(combination, left_out=why)
        for combination, why in zip(combined, reasons, strict=True)
    ]
    echo(estimate.sentence(study, planned, None))
    if trust.commands(study, combined) and not study.is_bundled:
        echo(f"it runs commands of the file, for which `study run` needs {trust.COMMANDS_OPTION}")
