"""Commands and files of the system, whose refusals are told in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cuesta.errors import InputError

COMMAND_SECONDS = 60.0
"""A command of the system that takes longer has failed."""

_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
_CALM = {"LC_ALL": "C"}


def find_command(command: str) -> str | None:
    """Where a command of the system is, also one that only root usually looks for."""
    return shutil.which(command, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}")


def output_of(factor: str, command: Sequence[str]) -> str:
    """What a command prints. Errors: `InputError` that names the factor it was for."""
    try:
        done = _run(command)
    except FileNotFoundError:
        raise InputError(f"machine factor {factor} needs the command {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"machine factor {factor}: {command[0]} did not end") from None
    if done.returncode:
        why = (done.stderr.strip() or done.stdout.strip() or "refused").splitlines()[-1]
        raise InputError(f"machine factor {factor}: {' '.join(command)}: {why}")
    return done.stdout.strip()


def succeeds(command: Sequence[str]) -> bool:
    """Whether a command ended well."""
    try:
        return _run(command).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def write(factor: str, path: Path, text: str) -> None:
    """Tell the kernel something. Errors: `InputError` that names the factor it is for."""
    try:
        path.write_text(text, encoding="ascii")
    except OSError as error:
        why = (error.strerror or "refused").lower()
        raise InputError(f"machine factor {factor}: {path}: {why}") from None


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
