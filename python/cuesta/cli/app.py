"""Runs a command line and turns errors into exit codes.

Exit codes: 0 done and verified; 1 the answer failed verification; 2 bad arguments or bad input;
3 an engine or service is missing or broke; 70 a defect of Cuesta; 130 and 143 ended by Ctrl-C and
by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from cuesta import __version__, python_path, ranks
from cuesta.cli import streams, verbosity
from cuesta.errors import (
    MORE_THREADS,
    CuestaError,
    Defect,
    EngineError,
    InputError,
    in_words,
    lacks_threads,
)
from cuesta.machine import check_limit_of_files, raise_limit_of_files
from cuesta.untrusted import single_line

_HELP = frozenset(("--help", "-h"))
VERSION = "--version"
INTERRUPTED = 128 + signal.SIGINT


class Terminated(BaseException):
    """A signal to end arrived: clean up as for Ctrl-C, then leave with its own exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


def main() -> None:
    """Run the command line of this process and leave it with the right exit code."""
    streams.prepare()
    raise_limit_of_files()
    signal.signal(signal.SIGTERM, _terminate)
    # A closed terminal ends the command, except under nohup.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)
    if ranks.rank() > 0:
        _leave(_other_rank(verbosity.words(sys.argv[1:])))
    _leave(call(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End the process. The result is reported, so an interrupt from here on cannot change it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(streams.flushed(code))


def call(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Errors go to stderr as one line."""
    try:
        return _call(arguments)
    finally:
        verbosity.release()


def _call(arguments: Sequence[str]) -> int:
    try:
        _refuse_empty(arguments)
        chosen, words = verbosity.split(arguments)
        verbosity.adopt(chosen, ("cuesta", *arguments))
        result = _run(words)
    except CuestaError as error:
        return _fail(str(error), error.exit_code)
    except Terminated as ended:
        return _fail(f"ended by {ended.signal.name}", 128 + ended.signal)
    except KeyboardInterrupt:
        result = INTERRUPTED
    except BrokenPipeError:
        streams.discard(sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        return _fail(f"{error.filename or 'system'}: {in_words(error)}", 2)
    except SystemExit:
        raise
    except Exception as error:
        # Commands of other products have exceptions of their own, with a code as `CuestaError` has.
        code = getattr(error, "exit_code", None)
        return _fail(str(error), code) if isinstance(code, int) else _defect(error)
    except BaseException as error:  # A panic of the native module.
        return _defect(error)
    if result == INTERRUPTED:  # Typer turns Ctrl-C into this without a word.
        return _fail("interrupted", INTERRUPTED)
    return result if isinstance(result, int) else 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse an empty value or word, which as a path would be the working folder.

    Errors: `InputError`.
    """
    before = "cuesta"
    for word in arguments:
        name, equals, value = word.partition("=")
        if not word or (name.startswith("--") and equals and not value):
            subject = name or (before if before[:1] == "-" else f"the word after {before}")
            example = "" if subject == "--missing" else ", such as . for the working folder,"
            raise InputError(
                f"{subject} is empty; give a value or a path{example} or leave it out "
                "(is a variable of the shell not set?)"
            )
        before = word


def _defect(error: BaseException) -> int:
    """Report an error that no code expects. Errors: it, where a traceback is requested."""
    if os.environ.get("CUESTA_TRACEBACK"):
        raise error
    if lacks_threads(error):
        return _fail(f"the system refused a thread; {MORE_THREADS}", InputError.exit_code)
    defect = Defect.of(error)
    return _fail(f"{defect} (CUESTA_TRACEBACK=1 shows where)", defect.exit_code)


def _run(arguments: Sequence[str]) -> object:
    """Run a command and return its result; Typer is imported where it is needed."""
    if list(arguments) == [VERSION] and streams.COMPLETION not in os.environ:
        sys.stdout.write(f"cuesta {__version__}\n")
        return None
    # The version needs no workload and no option of any.
    from cuesta.cli import plain

    check_limit_of_files()
    command = plain.command(arguments)
    if command is not None:
        return command()
    from cuesta.cli import commands

    return commands.call(arguments)


def _other_rank(arguments: Sequence[str]) -> int:
    """Run a command line as a rank other than 0; `run --engine mpi` serves rank 0.

    `srun` starts programs without MPI on each node as well, so that `run` on another engine is
    refused only where `mpirun` started this process: all its ranks would write the same answer.
    """
    if not _serves_mpi(arguments):
        writes = arguments[:1] in (["run"], ["compare"]) and not _HELP.intersection(arguments)
        if not (writes and ranks.is_of_mpirun()):
            return call(arguments)
        return _fail(
            f"{arguments[0]}: this process is rank {ranks.rank()} of an MPI program, as "
            f"{ranks.variable()} says, and rank 0 does the work; use --engine mpi, or unset "
            f"{ranks.variable()} where no mpirun started this",
            2,
        )
    from cuesta.engines.mpi import world

    try:
        return world.serve()
    except CuestaError as error:
        return _fail(str(error), error.exit_code)


def _serves_mpi(arguments: Sequence[str]) -> bool:
    """Whether a command line is a run on engine `mpi`, as it is typed or as settings have it."""
    if arguments[:1] != ["run"]:
        return False
    words = " ".join(arguments).replace("=", " ").split()
    if "mpi" in words or "--engine" in words:
        return "mpi" in words
    from cuesta.config.layers import effective

    try:
        setting = effective("run").get("run.engine")
    except CuestaError:
        return False  # The run itself reports it.
    return setting is not None and setting.value == "mpi"


def _fail(message: str, exit_code: int) -> int:
    if exit_code in (EngineError.exit_code, Defect.exit_code):
        message += python_path.remark()
    line = single_line(" ".join(message.split()))
    if line:
        sys.stderr.write(f"{verbosity.error_line(line)}\n")
    return exit_code


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
