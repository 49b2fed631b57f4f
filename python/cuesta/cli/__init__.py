"""The command line: words to calls. Every error ends as one line and an exit code.

A subcommand is a module of this folder with `register(app)`, listed in `cuesta.cli.app`. Import
what is heavy inside the command, so that `--help` starts at once.
"""

from __future__ import annotations

from cuesta.cli.app import main

__all__ = ["main"]
