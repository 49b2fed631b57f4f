"""The application of Typer with the subcommands: help, completion, refused words."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cuesta import __version__
from cuesta.cli import products, typed
from cuesta.errors import InputError

COMMANDS = (
    "run", "compare", "verify", "assess", "data", "store", "cluster", "study", "report", "explain",
    "model", "advise", "config", "doctor",
)  # fmt: skip
"""Modules of this package and commands of `products`, in the order that help lists them."""


def call(arguments: Sequence[str]) -> object:
    """Run a command line; return the result of the command.

    Errors: `InputError` for words that Typer refuses, besides those of the command;
    `BrokenPipeError`.
    """
    named = [name for name in arguments[:1] if name in COMMANDS]
    command: Any = typer.main.get_command(build(named or COMMANDS))
    typed.remark_repeated(command, arguments)
    try:
        return command(args=list(arguments), prog_name="cuesta", standalone_mode=False)
    except typer.TyperException as error:
        message = typed.number_text(error, arguments) if named else _workload_text(arguments)
        raise InputError(message or _usage_text(error)) from None
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ended:
        # Typer ends the process by itself where standard output is a broken pipe.
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise


def parsed(arguments: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Read `run WORKLOAD ...` or `compare WORKLOAD ...`; return the workload and its options.

    None for words that name no workload, or ask for help. Errors: `InputError` for words that
    Typer refuses.
    """
    name, *words = [*arguments[1:], ""]
    application: Any = typer.main.get_command(build(arguments[:1]))
    command = application.commands[arguments[0]].commands.get(name)
    if command is None or {"-h", "--help"} & set(words):
        return None
    typed.remark_repeated(command, words[:-1])
    try:
        return name, dict(command.make_context(f"cuesta {arguments[0]} {name}", words[:-1]).params)
    except typer.TyperException as error:
        raise InputError(_usage_text(error)) from None


def build(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The application with these subcommands; one alone starts sooner than all."""
    app = typer.Typer(
        name="cuesta",
        cls=_InOrder,
        help="Data-intensive science at hardware speed: verified answers, measured ceilings.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in commands:
        if name in products.COMMANDS:
            products.register(app, name)
        else:
            import_module(f"cuesta.cli.{name}").register(app)
    return app


class _InOrder(TyperGroup):
    """Lists the subcommands in the order of `COMMANDS`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [name for name in COMMANDS if name in self.commands]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cuesta {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_show_version, is_eager=True
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show errors and results alone.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show details of every step.")
    ] = False,
    log_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also append all details to a file.")
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", help="Begin lines on stderr with the time, in UTC.")
    ] = False,
) -> None:
    """Options before any subcommand; `cuesta.cli.verbosity` reads the last four."""


def _workload_text(arguments: Sequence[str]) -> str | None:
    """Message on a workload in the place of a command; None where the first word names none."""
    from difflib import get_close_matches

    from cuesta.workloads import WORKLOAD_NAMES

    near = get_close_matches(next(iter(arguments), ""), WORKLOAD_NAMES, n=1, cutoff=0.8)
    return f"{arguments[0]!r} is no command; type `cuesta run {near[0]} ...`" if near else None


def _usage_text(error: typer.TyperException) -> str:
    """Message on the wrong words with a pointer to help; empty after a help page."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    return f"{message} See `{context.command_path} --help`." if message and context else message
