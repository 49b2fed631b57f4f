"""Options as Typer reads them: from the signature of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cuesta.api.declared import Option
from cuesta.api.options import Body, inputs_required, make_command, options
from cuesta.cli import samples
from cuesta.workloads import WORKLOAD_NAMES, Workload, get_workload


def add_workloads(
    group: typer.Typer, engines: Option, body: Body, *, has_samples: bool = False
) -> None:
    """Add a subcommand for each workload; those of read pairs may take a sheet of samples."""
    for name in WORKLOAD_NAMES:
        workload = get_workload(name)
        workload_options = options(workload, engines)
        made = make_command(workload, engines, body)
        if has_samples and workload.paired_parameter:
            workload_options = [samples.SAMPLES, *workload_options]
            made = samples.or_samples(workload, made)
        command = _with_signature(made, workload, workload_options)
        group.command(name, help=workload.summary, cls=_alone(workload_options))(command)


def add_callback(group: typer.Typer, declared: Sequence[Option], body: Callable[..., None]) -> None:
    """Let a group with these options and without a subcommand call `body`.

    `body` gets the context, and the values of the options.
    """

    def callback(context: typer.Context, **values: Any) -> None:
        body(context, **values)

    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    context = inspect.Parameter("context", place, annotation=typer.Context)
    _sign(callback, [context, *map(_parameter, declared)])
    values = _values_alone(declared)

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, [values.get(word, word) for word in args])

    group.callback(cls=Group, invoke_without_command=True)(callback)


def add_command(
    app: typer.Typer, name: str, declared: Sequence[Option], body: Callable[..., int]
) -> None:
    """Add a command with these options, whose help is the documentation of `body`."""

    def command(**values: Any) -> int:
        return body(**values)

    _sign(command, list(map(_parameter, declared)))
    command.__doc__ = body.__doc__
    app.command(name)(command)


def _values_alone(declared: Sequence[Option]) -> dict[str, str]:
    """By word that may stand alone, the word with its value."""
    return {
        word: f"{word}={option.alone}"
        for option in declared
        if option.alone
        for word in option.words
    }


def _alone(declared: Sequence[Option]) -> type[TyperCommand]:
    """A command that puts a value behind an option whose word stands alone."""
    values = _values_alone(declared)

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, [values.get(word, word) for word in args])

    return Command


def _with_signature(
    command: Callable[..., None], workload: Workload, declared: Sequence[Option]
) -> Callable[..., None]:
    _sign(command, [_argument(workload), *map(_parameter, declared)])
    command.__doc__ = workload.summary
    return command


def _sign(function: Callable[..., object], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function the parameters that Typer reads."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def _argument(workload: Workload) -> inspect.Parameter:
    declared = typer.Argument(
        metavar=workload.inputs_metavar, help=workload.inputs_help, show_default=False
    )
    if inputs_required(workload):
        return _keyword("inputs", list[str], declared, inspect.Parameter.empty)
    return _keyword("inputs", list[str] | None, declared, None)


def _parameter(option: Option) -> inspect.Parameter:
    choices, default = list(option.choices), option.untyped
    is_hidden = default is None and option.default is not None
    declared = typer.Option(
        *option.words,
        help=option.help,
        metavar=option.metavar,
        show_default=str(option.default) if is_hidden else option.shown,
        rich_help_panel=option.panel,
        autocompletion=(lambda: choices) if choices else None,
    )
    kind: Any = list[option.kind] if option.many else option.kind  # type: ignore[name-defined]
    if option.required:
        return _keyword(option.name, kind, declared, inspect.Parameter.empty)
    optional = kind if default is not None else kind | None
    return _keyword(option.name, optional, declared, default)


def _keyword(name: str, kind: Any, declared: Any, default: Any) -> inspect.Parameter:
    """A keyword-only parameter; without a default it is required."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declared], default=default
    )
