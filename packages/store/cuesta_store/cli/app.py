"""The command `cuesta-store`: runs a command line and turns errors into exit codes.

Exit codes: 0 done; 1 `audit` misses a file; 2 bad arguments or input; 3 no store runs, or it broke;
70 a defect; 130 ended by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import typer

from cuesta_store.cli.commands import store_app
from cuesta_store.errors import CuestaError, Defect, InputError, disk_error
from cuesta_store.untrusted import single_line

NAME = "cuesta-store"


def main() -> None:
    """Run the command line of this process and leave it with the right exit code."""
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code. Errors go to stderr as one line."""
    try:
        return _run(arguments)
    except CuestaError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(error.format_message(), InputError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _fail(str(disk_error(error, "system")), InputError.exit_code)
    except Exception as error:
        if os.environ.get("CUESTA_TRACEBACK"):
            raise
        return _fail(str(Defect.of(error)), Defect.exit_code)


def _run(arguments: Sequence[str]) -> int:
    if "" in arguments:
        before = [NAME, *arguments][arguments.index("")]
        raise InputError(f"the word after {before} is empty; give a value or a path")
    app = store_app(
        name=NAME,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    result = app(args=list(arguments), prog_name=NAME, standalone_mode=False)
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _fail(message: str, exit_code: int) -> int:
    # Remedies name the command of `cuesta`, which may not be there.
    line = single_line(" ".join(message.split())).replace("`cuesta store ", f"`{NAME} ")
    if line:
        sys.stderr.write(f"{NAME}: {line}\n")
    return exit_code
