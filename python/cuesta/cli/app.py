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
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cuesta import __version__
from cuesta.errors import CuestaError

COMMANDS = (
    "run", "compare", "verify", "assess", "data", "study", "report", "explain", "doctor",
)  # fmt: skip
"""Modules of this package, in the order that help lists them."""


INTERRUPTED = 128 + signal.SIGINT


class Terminated(BaseException):
    """SIGTERM arrived: clean up as for Ctrl-C, then leave with its own exit code."""


def main() -> None:
    """Run the command line of this process and leave it with the right exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    if int(os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0) > 0:
        sys.exit(_other_rank(sys.argv[1:]))
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Errors go to stderr as one line."""
    try:
        app = build([name for name in arguments[:1] if name in COMMANDS] or COMMANDS)
        result = app(args=list(arguments), prog_name="cuesta", standalone_mode=False)
    except CuestaError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_usage_text(error), 2)
    except Terminated:
        return _fail("ended by SIGTERM", 128 + signal.SIGTERM)
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _fail(f"{error.filename or 'system'}: {(error.strerror or str(error)).lower()}", 2)
    except Exception as error:
        if os.environ.get("CUESTA_TRACEBACK"):
            raise
        return _fail(
            f"internal error, please report it: {type(error).__name__}: {error} "
            "(CUESTA_TRACEBACK=1 shows where)",
            3,
        )
    if result == INTERRUPTED:  # Typer turns Ctrl-C into this without a word.
        return _fail("interrupted", INTERRUPTED)
    return result if isinstance(result, int) else 0


def _other_rank(arguments: Sequence[str]) -> int:
    """A rank beside the first of `mpirun -n N cuesta run ... --engine mpi`: it only helps."""
    from cuesta.engines.mpi import world

    if arguments[:1] != ["run"] or "mpi" not in " ".join(arguments).replace("=", " ").split():
        return 2  # Rank 0 does the work alone, or says what is wrong.
    return world.serve()


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
) -> None:
    """Options before any subcommand."""


def _usage_text(error: typer.TyperException) -> str:
    """What is wrong with the words, and where to read more; empty after a help page."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    return f"{message} See `{context.command_path} --help`." if message and context else message


def _fail(message: str, exit_code: int) -> int:
    line = " ".join(message.split())
    if line:
        typer.echo(f"cuesta: {line}", err=True)
    return exit_code


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated
