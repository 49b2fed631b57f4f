"""Commands and files of the system, with errors in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cuesta.errors import InputError, in_words

COMMAND_SECONDS = 60.0
"""Seconds after which a command of the system counts as failed."""

_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
_CALM = {"LC_ALL": "C"}


def find_command(command: str) -> str | None:
    """Path of a command of the system, including those in folders that only root searches."""
    return shutil.which(command, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}")


def output_of(factor: str, command: Sequence[str]) -> str:
    """Run a command and return its output. Errors: `InputError` with the factor it is for."""
    try:
        done = _run(command)
    except FileNotFoundError:
        raise InputError(f"machine factor {factor} needs the command {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"machine factor {factor}: {command[0]} did not end; try again") from None
    if done.returncode:
        why = (done.stderr.strip() or done.stdout.strip() or "refused").splitlines()[-1]
        raise InputError(f"machine factor {factor}: {' '.join(command)}: {why}")
    return done.stdout.strip()


def succeeds(command: Sequence[str]) -> bool:
    """Run a command; return whether it succeeded."""
    try:
        return _run(command).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def write(factor: str, path: Path, text: str) -> None:
    """Write a setting of the kernel. Errors: `InputError` with the factor it is for."""
    try:
        path.write_text(text, encoding="ascii")
    except OSError as error:
        raise InputError(f"machine factor {factor}: {path}: {in_words(error)}") from None


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    program = find_command(command[0])
    if program is None:
        raise FileNotFoundError(command[0])
    return subprocess.run(
        [program, *command[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
        env=os.environ | _CALM,
        stdin=subprocess.DEVNULL,
    )
