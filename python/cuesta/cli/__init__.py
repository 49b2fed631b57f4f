"""The command line: words to calls. All errors end as one line and an exit code.

A subcommand is a module of this folder with `register(app)`, listed in `cuesta.cli.commands`.
Import heavy modules inside the command: a plain `run` starts without Typer, Rich or NumPy, which a
test checks.

Safe to change: sentences of help. What breaks: options and exit codes are used in scripts; an old
name stays as a hidden alias.
"""

from __future__ import annotations

import signal

_handler = signal.getsignal(signal.SIGINT)
if _handler is signal.default_int_handler:
    # Until `main` is called, Ctrl-C ends the process without a traceback out of the imports.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from cuesta.cli.app import main  # noqa: E402

if _handler is signal.default_int_handler:
    signal.signal(signal.SIGINT, _handler)

__all__ = ["main"]
