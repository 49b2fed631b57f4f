"""Processes that Cuesta starts: their commands and their environment."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Variables under which Python imports no module of the working folder, as with `-P`."""


@contextlib.contextmanager
def with_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process for a while, for the processes that it starts meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def module_command(module: str, *words: str, python: str = sys.executable) -> list[str]:
    """Return the command that runs a module, and imports none of the working folder.

    That may be a stranger's, and Python searches it first without `-P`.
    """
    return [python, "-P", "-m", module, *words]
