"""Builds the application out of the subcommands, runs it and turns errors into exit codes.

Exit codes: 0 done and verified; 1 the answer failed verification; 2 bad arguments or bad input;
3 an engine or service is missing or broke; 130 and 143 ended by Ctrl-C and by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Annotated

import typer

from cuesta import __version__
from cuesta.errors import CuestaError

COMMANDS = ("run", "compare", "verify", "data", "report", "explain", "doctor")
"""Modules of this package, in the order that help lists them."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: clean up as for Ctrl-C, then leave with its own exit code."""


def main() -> None:
    """Run the command line of this process and leave it with the right exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Errors go to stderr as one line."""
    try:
        result = build()(args=list(arguments), prog_name="cuesta", standalone_mode=False)
    except CuestaError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(error.format_message(), 2)
    except Terminated:
        return _fail("ended by SIGTERM", 128 + signal.SIGTERM)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return result if isinstance(result, int) else 0


def build() -> typer.Typer:
    """The application with every subcommand registered."""
    app = typer.Typer(
        name="cuesta",
        help="Data-intensive science at hardware speed: verified answers, measured ceilings.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in COMMANDS:
        if find_spec(f"cuesta.cli.{name}"):
            import_module(f"cuesta.cli.{name}").register(app)
    return app


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)
    ] = False,
) -> None:
    if version:
        typer.echo(f"cuesta {__version__}")
        raise typer.Exit


def _fail(message: str, exit_code: int) -> int:
    line = " ".join(message.split())
    typer.echo(f"cuesta: {line}", err=True)
    return exit_code


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated
