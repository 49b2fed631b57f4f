"""The command line: words to calls. All errors end as one line and an exit code.

A subcommand is a module of this folder with `register(app)`, listed in `cuesta.cli.commands`.
Import heavy modules inside the command: a plain `run` starts without Typer, Rich or NumPy, which a
test checks.

Safe to change: sentences of help. What breaks: options and exit codes are used in scripts; an old
name stays as a hidden alias.
"""

from __future__ import annotations

from cuesta.cli.app import main

__all__ = ["main"]
