"""Runs the commands of a scheduler, and reports their errors in one line."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from cuesta.errors import EngineError, InputError

SECONDS_MAX = 60.0
"""Time for a command of a scheduler to answer."""


def run(words: Sequence[str]) -> str:
    """Return a command's output. Errors: `InputError` with its message, `EngineError`: it hangs."""
    code, out, errors = ask(words)
    if code:
        lines = [line.strip() for line in (errors or out).splitlines() if line.strip()]
        raise InputError(f"{words[0]}: {'; '.join(lines)[:300] or f'ended with code {code}'}")
    return out


def ask(words: Sequence[str], seconds: float = SECONDS_MAX) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command. Errors: `EngineError` after `seconds`."""
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EngineError(
            f"{words[0]} does not answer for {seconds:.0f} s; see whether the scheduler runs"
        ) from None
    return done.returncode, done.stdout, done.stderr
